"""The state of a model of some variables, and a ps for it in this process."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.config import Optimizer
from tf_cluster_trainer.strategies.between_graph import variables
from tf_cluster_trainer.strategies.between_graph.traced_step import VariableSpec

from tests.ports import free_port


def made(shapes: Mapping[str, tuple[int, ...]], optimizer: str = "Adam", ps: int = 1) -> Any:
    """Its variables, of float32 and by key, in the current graph."""
    described = [VariableSpec(key, shape, tf.float32, True, None) for key, shape in shapes.items()]
    specs = {key: TensorSpec(shape, "float32") for key, shape in shapes.items()}
    settings: Any = SimpleNamespace(optimizer=Optimizer(optimizer, 0.1, None))
    return variables.make(described, specs, specs, settings, ps=ps, rows=1, workers=1, metrics=0)


def ps_of_one() -> str:
    """The target of a server that is a ps."""
    spec = {"ps": [f"127.0.0.1:{free_port()}"]}
    return str(tf.distribute.Server(spec, job_name="ps", task_index=0).target)
