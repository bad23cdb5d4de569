"""What every hook gets: one typed, read-only object.

Imports no TensorFlow.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tf_cluster_trainer.config import Settings, Task


class Flags:
    """The run's flags as attributes, for a program that declares none: `ctx.flags.units`.

    Any name is free, because the system's settings are in `ctx.settings`. A flag that the run does
    not have raises AttributeError, so `getattr(ctx.flags, "units", 32)` gives a default.
    """

    __slots__ = ("__values",)

    def __init__(self, values: Mapping[str, Any]) -> None:
        object.__setattr__(self, "_Flags__values", dict(values))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        values: dict[str, Any] = self.__values
        if name in values:
            return values[name]
        close = difflib.get_close_matches(name, values, n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        there = ", ".join(sorted(values)) or "none"
        raise AttributeError(f"this run has no flag {name!r}{hint}; its flags: {there}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"flags are read-only: {name!r} can't be set")

    def __contains__(self, name: object) -> bool:
        return name in self.__values

    def __iter__(self) -> Iterator[str]:
        return iter(self.__values)

    def __repr__(self) -> str:
        return f"Flags({self.__values!r})"


@dataclass(frozen=True)
class DataShard:
    """Which part of the data this task takes, for programs that split the data among tasks.

    In `dataset`, in-graph, `index` is a scalar int64 tensor, because one traced function builds
    every worker's data set; `Dataset.shard` accepts it. In the other hooks the shard is the whole:
    0 of 1.
    """

    index: Any
    count: int


WHOLE = DataShard(0, 1)


@dataclass(frozen=True)
class Context:
    """All that a hook gets. `run_dir` is this run's directory under `log_dir`.

    `flags` is an instance of the class that the program declares (`Program.flags`), else of
    `Flags`.
    """

    task: Task
    settings: Settings
    flags: Any
    data_dir: Path
    log_dir: Path
    run_dir: Path
    data_shard: DataShard = WHOLE
