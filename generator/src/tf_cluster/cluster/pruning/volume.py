"""Which runs on a log volume go, and why the others stay: from what was seen, without a look.

What lies on the volume is seen by the trainer in a pod (`tf-trainer prune-runs list`), which knows
what a training can't do without. Who in the namespace names a run is in naming.py.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.cluster.claim_job import Errand, Mount, Place
from tf_cluster.cluster.pruning.naming import Names
from tf_cluster.cluster.text import span
from tf_cluster.cluster.workloads import LOG
from tf_cluster.exits import RefusedError

SEEN_FORMAT = "tf-cluster.io/volume/v1"
REMOVED_FORMAT = "tf-cluster.io/removed/v1"
FAILED = "failed"
PRUNE = "prune"
"""The component of its Jobs."""


@dataclass(frozen=True)
class Run:
    """A run on a volume. `written` is its newest time in ns, `keeps` what on the volume keeps it.

    `why` is all that keeps it; empty for one that goes.
    """

    training: str
    run: str
    size: int
    written: int
    checkpoint: int | None = None
    exports: tuple[str, ...] = ()
    keeps: str = ""
    why: str = ""

    @property
    def goes(self) -> bool:
        """Whether nothing keeps it."""
        return not self.why

    def is_same(self, other: "Run") -> bool:
        """Whether both are looks at one run."""
        return (self.training, self.run) == (other.training, other.run)


@dataclass(frozen=True)
class Left:
    """A run whose removal was begun before: its training, the name that it has now, its bytes."""

    training: str
    name: str
    size: int


@dataclass(frozen=True)
class Volume:
    """What the trainer saw on a volume at a time (ns), and names of what is no run, with why."""

    at: int
    size: int
    free: int
    runs: tuple[Run, ...] = ()
    left: tuple[Left, ...] = ()
    others: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Removal:
    """What the trainer removed: bytes of all runs before and after, what became of each, why."""

    before: int
    after: int
    free: int
    outcomes: Mapping[tuple[str, str], tuple[str, str]]


def errand(place: Place, words: Sequence[str], *, may_write: bool = False) -> Errand:
    """What a Job does: `tf-trainer prune-runs` with these words."""
    return Errand(
        component=PRUNE,
        what="prune runs",
        commands=(("prune-runs", "--log", LOG, *words),),
        mounts=(Mount(place.claim, LOG, place.sub_path, may_write),),
        late="a longer --timeout lets it end; what it has removed is gone",
    )


def volume_of(document: Mapping[str, Any]) -> Volume:
    """What the trainer printed. Raises RefusedError if it is not that."""
    try:
        _expect(document, SEEN_FORMAT)
        return Volume(
            at=int(document["at"]),
            size=int(document["bytes"]),
            free=int(document["freeBytes"]),
            runs=tuple(
                Run(
                    training=str(one["training"]),
                    run=str(one["run"]),
                    size=int(one["bytes"]),
                    written=int(one["written"]),
                    checkpoint=None if one["checkpoint"] is None else int(one["checkpoint"]),
                    exports=tuple(map(str, one["exports"])),
                    keeps=str(one["keeps"]),
                    why=str(one["keeps"]),
                )
                for one in document["runs"]
            ),
            left=tuple(
                Left(str(one["training"]), str(one["name"]), int(one["bytes"]))
                for one in document["halfRemoved"]
            ),
            others=tuple((str(one["name"]), str(one["why"])) for one in document["others"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(
            f"the trainer's image says what this tool can't read: {error!r}"
        ) from None


def removal_of(document: Mapping[str, Any]) -> Removal:
    """What the trainer printed. Raises RefusedError if it is not that."""
    try:
        _expect(document, REMOVED_FORMAT)
        return Removal(
            before=int(document["bytesBefore"]),
            after=int(document["bytesAfter"]),
            free=int(document["freeBytesAfter"]),
            outcomes={
                (str(one["training"]), str(one["run"])): (str(one["outcome"]), str(one["why"]))
                for one in document["runs"]
            },
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RefusedError(
            f"the trainer's image says what this tool can't read: {error!r}"
        ) from None


def _expect(document: Mapping[str, Any], form: str) -> None:
    if document["format"] != form:
        raise ValueError(document["format"])


def chosen(volume: Volume, names: Names, older: int | None, keep: int | None) -> tuple[Run, ...]:
    """The runs, each with what keeps it. Both terms have to hold, where they are given.

    `keep` counts the newest of each training, whatever else keeps them; `older` is seconds. Of two
    of one time the newer one is that of the greater name, as for the trainer.
    """
    newest: defaultdict[str, list[Run]] = defaultdict(list)
    for one in sorted(volume.runs, key=lambda one: (one.written, one.run), reverse=True):
        newest[one.training].append(one)
    kept = {(one.training, one.run) for some in newest.values() for one in some[: keep or 0]}

    def why(one: Run) -> str:
        if named := names.of_run(one.training, one.run):
            return named
        if one.exports and names.strangers:
            user = names.strangers[0]
            return f"{user} mounts the volume and says not what it reads: it may be an export"
        if one.keeps:
            return one.keeps
        if (one.training, one.run) in kept:
            return f"one of the newest {keep} of its training: --keep"
        seconds = (volume.at - one.written) / 1e9
        if older is not None and seconds < older:
            return f"written to {span(seconds)} ago: --older {span(older)}"
        return ""

    return tuple(replace(one, why=why(one)) for one in volume.runs)


def arguments(runs: Iterable[Run]) -> list[Mapping[str, Any]]:
    """The runs as `tf-trainer prune-runs remove` takes them."""
    return [{"training": one.training, "run": one.run, "written": one.written} for one in runs]


def size_text(size: float) -> str:
    """`12 KiB`, `3.4 GiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1024:
            return f"{size:.0f} {unit}" if unit == "B" or abs(size) >= 100 else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"


def merged(parts: Sequence[Removal]) -> Removal:
    """Several removals, one after the other, as one."""
    outcomes = {key: value for one in parts for key, value in one.outcomes.items()}
    return Removal(parts[0].before, parts[-1].after, parts[-1].free, outcomes)


_CLAIM = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")


def is_name(text: str) -> bool:
    """Whether Kubernetes takes it as the name of a claim, and the chart as that of a training."""
    return len(text) <= 253 and _CLAIM.fullmatch(text) is not None
