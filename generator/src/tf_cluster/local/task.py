"""One task of a local run, and its ports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

TaskType = Literal["chief", "worker", "ps", "evaluator"]

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Task:
    """One task and its ports on the loopback interface. An evaluator has no TensorFlow server."""

    type: TaskType
    index: int
    port: int | None
    status_port: int

    @property
    def ports(self) -> list[int]:
        """The ports that it listens on."""
        return [port for port in (self.port, self.status_port) if port is not None]

    @property
    def status_address(self) -> str:
        """The address of its status server."""
        return f"{LOOPBACK}:{self.status_port}"

    @property
    def name(self) -> str:
        """The name in messages and file names: `worker-0`."""
        return f"{self.type}-{self.index}"


def serves(kind: TaskType) -> bool:
    """Whether tasks of this type have a TensorFlow server."""
    return kind != "evaluator"


def chief_name(tasks: Sequence[Task]) -> str:
    """The task that saves, reports progress and ends the run: worker 0 where there is no chief."""
    names = [task.name for task in tasks]
    return "chief-0" if "chief-0" in names else "worker-0"
