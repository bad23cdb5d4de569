"""The messages between a supervisor and its one child.

They use two pipes, with one JSON object a line. The child finds their file descriptors in
TF_CLUSTER_CONTROL as "<read>,<write>". A child reads exactly one message, Go, before it connects to
other tasks or uses the run directory; it sends any number. An evaluator's child needs no Go; it
reads Finish. SIGTERM asks a child to save and exit 42.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import IO, Any, Literal, get_args

CONTROL_VARIABLE = "TF_CLUSTER_CONTROL"


@dataclass(frozen=True)
class Go:
    """Supervisor to child: the peers serve and this attempt owns the run: begin."""


@dataclass(frozen=True)
class Finish:
    """Supervisor to the evaluator's child: training is done, the checkpoint of `step` is the last.

    None: the newest checkpoint is the last.
    """

    step: int | None = None


@dataclass(frozen=True)
class Serving:
    """Child of a ps, or of a worker that a chief drives: the TensorFlow server accepts calls."""


@dataclass(frozen=True)
class Ready:
    """Child: TensorFlow and the program are imported and tried; a training child awaits Go."""


@dataclass(frozen=True)
class Phase:
    """Child: what it does now, with a sentence for people.

    Chief's child: `running` or `saving`; evaluator's: `running` or `waiting`.
    """

    status: str
    message: str


@dataclass(frozen=True)
class Progress:
    """Chief's child: where training stands.

    Rates are per second since the previous report, None if unknown. `examples`, and `workers`, the
    steps of each worker index, count since the run began.
    """

    step: int
    examples: int
    steps_per_second: float | None
    loss: float | None
    workers: Mapping[str, int]


Way = Literal["copied", "streamed", "ps"]
"""How a checkpoint's tensors got to the disk."""


@dataclass(frozen=True)
class Placement:
    """Chief's child: device of every trainable variable, by name; bytes of the state on each ps."""

    devices: Mapping[str, str]
    ps_bytes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Saved:
    """Chief's child: a checkpoint of this step is whole on disk; the save took `seconds`.

    It has `size` bytes, which were copied first, streamed through the chief, or written by the ps.
    """

    step: int
    seconds: float
    size: int = 0
    way: Way = "copied"


@dataclass(frozen=True)
class Lost:
    """Chief's child: this task (`worker-1`) was lost; training goes on, or waits for it."""

    task: str


@dataclass(frozen=True)
class StepsMade:
    """Chief's child: all steps are done; it needs no worker any more, and the ps until Finishing.

    It comes only before a save that reads the ps for long.
    """


@dataclass(frozen=True)
class Finishing:
    """Chief's child: all steps are done and the variables copied here; it needs no other task."""


@dataclass(frozen=True)
class Result:
    """Chief's child, last: the run is at its total."""

    step: int
    metrics: Mapping[str, float] = field(default_factory=dict)
    export: str | None = None


@dataclass(frozen=True)
class Evaluated:
    """Evaluator's child: the measures of the checkpoint of a step.

    `export` is the directory of the best model so far, None if there is none.
    """

    step: int
    metrics: Mapping[str, float]
    export: str | None = None


@dataclass(frozen=True)
class Failure:
    """Any child: why it ends, in words; its exit code says the kind. At most a Saved follows.

    `lost` are the tasks whose loss ended it, as far as it can tell.
    """

    message: str
    lost: Sequence[str] = ()


Message = (
    Go
    | Finish
    | Serving
    | Ready
    | Phase
    | Progress
    | Placement
    | Saved
    | Lost
    | StepsMade
    | Finishing
    | Result
    | Evaluated
    | Failure
)
_KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in get_args(Message)}


class Channel:
    """One end of the conversation. `receive` yields until the other end closes.

    Any thread may send.
    """

    def __init__(self, reader: IO[str], writer: IO[str]) -> None:
        self._reader = reader
        self._writer = writer
        self._sending = threading.Lock()

    @classmethod
    def of_child(cls, environment: Mapping[str, str]) -> Channel:
        """The child's end, from TF_CLUSTER_CONTROL."""
        read, write = (int(end) for end in environment[CONTROL_VARIABLE].split(","))
        for end in (read, write):
            os.set_inheritable(end, False)  # a grandchild that held them would hide our end
        return cls(os.fdopen(read), os.fdopen(write, "w"))

    def outlive_exec(self) -> None:
        """Keep the channel open for the program that replaces this process (`of_child`)."""
        for end in (self._reader, self._writer):
            os.set_inheritable(end.fileno(), True)

    def send(self, message: Message) -> None:
        """Write one message. Raises BrokenPipeError if the other end is closed."""
        line = json.dumps({"kind": type(message).__name__, **asdict(message)})
        with self._sending:
            self._writer.write(line + "\n")
            self._writer.flush()

    def receive(self) -> Iterator[Message]:
        """Yield the messages of the other end as they come."""
        for line in self._reader:
            document = json.loads(line)
            yield _KINDS[document.pop("kind")](**document)
