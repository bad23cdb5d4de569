"""The optimizer that the settings name, and its learning rate at each step of the run.

We use tf_keras' legacy optimizers: only their updates are not lost when several workers write to
one ps (docs/decisions/0005-in-graph-async.md). Where their sparse updates are wrong we use our own
(`sparse_updates`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.config import Optimizer
from tf_cluster_trainer.strategies.step import schedule
from tf_cluster_trainer.strategies.step.sparse_updates import Adagrad, LazyAdam, Momentum, PlainSGD

DEFAULT_MOMENTUM = 0.9


def make(settings: Optimizer, lag: Callable[[], Any]) -> Any:
    """Make an optimizer whose hyperparameters are constants of the graph, or computed in it.

    Passed as numbers they would become variables on ps 0, which every step of every worker reads;
    passed as functions they don't. `lag` is called when a step is traced. It returns
    `ResumePoint.optimizer_lag` as an int or a scalar int64 tensor. A schedule goes by the
    optimizer's count, to which every update of every worker adds 1, plus this lag.
    """

    def scheduled() -> Any:
        step = tf.cast(optimizer.iterations + lag(), tf.float64)
        return schedule.rate(settings, step, tf)

    rate = scheduled if settings.schedule else _constant(settings.learning_rate)
    optimizer = _named(settings, rate)
    return optimizer


def slots(settings: Optimizer) -> list[str]:
    """The names of what it keeps beside each trained variable, of its shape and type."""
    with tf.init_scope():
        optimizer = _named(settings, _constant(settings.learning_rate))
        optimizer._create_all_weights([tf.Variable(0.0)])
    return [str(slot) for slot in optimizer.get_slot_names()]


def _named(settings: Optimizer, rate: Callable[[], Any]) -> Any:
    if settings.name == "SGD":
        return PlainSGD(rate)
    if settings.name == "Momentum":
        momentum = DEFAULT_MOMENTUM if settings.momentum is None else settings.momentum
        return Momentum(rate, momentum=_constant(momentum))
    if settings.name == "Adam":
        return LazyAdam(rate, beta_1=_constant(0.9), beta_2=_constant(0.999))
    if settings.name == "Adagrad":
        return Adagrad(rate)
    raise ValueError(f"optimizer {settings.name}")  # the schema's enum says which there are


def _constant(value: float) -> Any:
    return lambda: value
