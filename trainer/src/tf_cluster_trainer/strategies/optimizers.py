"""The optimizer that the settings name.

tf_keras' legacy optimizers: the only ones whose updates are not lost when several workers write
to one ps (docs/decisions/0005-in-graph-async.md).
"""

from __future__ import annotations

from typing import Any

import tf_keras

from tf_cluster_trainer.config import Optimizer

DEFAULT_MOMENTUM = 0.9


def make(settings: Optimizer) -> Any:
    """An optimizer whose hyperparameters are constants of the graph.

    Given as numbers they become variables on ps 0, which every step of every worker would read;
    given as functions they don't.
    """
    legacy = tf_keras.optimizers.legacy
    rate = _constant(settings.learning_rate)
    if settings.name == "SGD":
        return legacy.SGD(rate)
    if settings.name == "Momentum":
        momentum = DEFAULT_MOMENTUM if settings.momentum is None else settings.momentum
        return legacy.SGD(rate, momentum=_constant(momentum))
    if settings.name == "Adam":
        return legacy.Adam(rate, beta_1=_constant(0.9), beta_2=_constant(0.999))
    if settings.name == "Adagrad":
        return legacy.Adagrad(rate)
    raise ValueError(f"optimizer {settings.name}")  # the schema's enum says which there are


def _constant(value: float) -> Any:
    return lambda: value
