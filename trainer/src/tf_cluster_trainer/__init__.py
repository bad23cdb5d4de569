"""The trainer: supervisor, strategies and loop of every task.

A program imports its base class from here: `from tf_cluster_trainer import Context, Program`.
Neither name imports TensorFlow, nor does this package: the supervisor shares it.
"""

from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context, DataShard, Flags

__all__ = ["Context", "DataShard", "Flags", "Program"]
