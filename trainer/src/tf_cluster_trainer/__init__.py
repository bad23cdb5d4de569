"""The trainer: supervisor, strategies and loop of every task.

A program imports its base class from here: `from tf_cluster_trainer import Context, Program`.
Neither name imports TensorFlow, nor does this package: the supervisor shares it.
"""

from tf_cluster_trainer.context import Context, DataShard, Flags
from tf_cluster_trainer.program import Program

__all__ = ["Context", "DataShard", "Flags", "Program"]
