"""A task's configuration: cluster.json, training.json and its own place, as frozen data.

Imports no TensorFlow: the supervisor uses it too.
"""

from .combination import COMBINATIONS, Combination, TaskType
from .load import CODE_VARIABLE, DEFAULT_CONFIG_DIR, load, read_cluster
from .settings import (
    CheckpointCadence,
    Cluster,
    Config,
    ConfigError,
    Download,
    ExportBest,
    Files,
    GitCommit,
    Mode,
    Optimizer,
    Schedule,
    Script,
    Settings,
    Source,
    Task,
)

__all__ = [
    "CODE_VARIABLE",
    "COMBINATIONS",
    "DEFAULT_CONFIG_DIR",
    "CheckpointCadence",
    "Cluster",
    "Combination",
    "Config",
    "ConfigError",
    "Download",
    "ExportBest",
    "Files",
    "GitCommit",
    "Mode",
    "Optimizer",
    "Schedule",
    "Script",
    "Settings",
    "Source",
    "Task",
    "TaskType",
    "load",
    "read_cluster",
]
