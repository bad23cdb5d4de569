"""The trainer: supervisor, strategies and loop of every task.

A program imports its base class from here: `from tf_cluster_trainer import Context, Program`.
Neither the names nor this package import TensorFlow, because the supervisor uses it too.
"""

from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Context, DataShard, Flags

__all__ = ["Context", "DataShard", "Flags", "Program"]
