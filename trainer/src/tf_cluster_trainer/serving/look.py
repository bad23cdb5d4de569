"""Looks at one exported version: is it whole, does it load, does it answer as it did.

`python -m tf_cluster_trainer.serving.look VERSION` is a process of its own: a model that ends it,
or fills its memory, is found out about, and takes nothing along.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from tf_cluster_trainer.run_directory import export_record, layout, tensors
from tf_cluster_trainer.run_directory.export_record import ExportRecord, UnreadableRecordError
from tf_cluster_trainer.serving import manifest, saved_model, warm_up
from tf_cluster_trainer.serving.compare import OtherAnswerError, difference
from tf_cluster_trainer.serving.manifest import ManifestError
from tf_cluster_trainer.serving.saved_model import SIGNATURE, MetaGraph, NoSavedModelError
from tf_cluster_trainer.serving.session import (
    Session,
    SessionError,
    installed_library,
    library_version,
)
from tf_cluster_trainer.wire import WireError

_VARIABLES = "variables/variables.index"
_LONGEST = 500
SHORT = 8192
"""Characters of a recorded request that is told with its version."""


@dataclass(frozen=True)
class Version:
    """What was seen of a version.

    `problem` is why no server should get it, `note` what its owner may want to know; both are None
    where there is none. `warm_up` are the rows of the warm-up's requests. `difference` is that of
    the recorded answer, None where it was not asked.
    """

    number: int
    bytes: int = 0
    tensorflow: str | None = None
    step: int | None = None
    metrics: Mapping[str, float | None] | None = None
    signatures: Mapping[str, Any] = field(default_factory=dict)
    warm_up: Sequence[int | None] = ()
    difference: float | None = None
    request: Mapping[str, Any] | None = None
    note: str | None = None
    problem: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As `check-exports` prints it (docs/formats.md)."""
        told = asdict(self)
        told["warmUp"] = told.pop("warm_up")
        return told


def look(version: Path, library: Path, tolerance: float) -> Version:
    """Look at a version; one that may be whole is loaded into this process."""
    seen, own = Version(int(version.name)), ""
    try:
        if why := _no_version(version):
            return replace(seen, problem=why)
        seen = replace(seen, bytes=_size(version))
        record = export_record.read(version)
        if record:
            seen = replace(seen, step=record.step, metrics=record.metrics, request=_request(record))
        graph = saved_model.read(version)
        seen = replace(
            seen,
            tensorflow=graph.tensorflow or None,
            signatures={name: one.as_json() for name, one in sorted(graph.signatures.items())},
            note=_note(graph, record),
        )
        seen = replace(seen, warm_up=_warm_up(version))
        manifest.check(version)
        own = library_version(library)
        if why := _torn(version, graph) or _unfit(graph, own):
            return replace(seen, problem=why)
        session = Session(version, library)
        return _asked(seen, session, record, tolerance)
    except (NoSavedModelError, UnreadableRecordError) as error:
        return replace(seen, problem=str(error))
    except ManifestError as error:
        return replace(seen, problem=f"it is not as it was published: {error}")
    except SessionError as error:
        why = "it is half copied, or damaged: " if error.torn else ""
        return replace(seen, problem=f"{why}TensorFlow {own} can't load it: {_cut(str(error))}")
    except OSError as error:
        return replace(seen, problem=f"it can't be read: {error}")


def _request(record: ExportRecord) -> Mapping[str, Any] | None:
    """The recorded request, where it is short enough for people to paste it."""
    if record.request is None:
        return None
    inputs = {name: tensors.as_json(one) for name, one in record.request.items()}
    return {"inputs": inputs} if len(json.dumps(inputs)) <= SHORT else None


def _no_version(version: Path) -> str:
    if not version.is_dir():
        return "it is no directory"
    if version.name != str(int(version.name)):
        return f"its name has zeros before the number: call it {int(version.name)}"
    with os.scandir(version) as entries:
        return "" if any(entries) else "it is empty"


def _torn(version: Path, graph: MetaGraph) -> str:
    """What TensorFlow overlooks, or sees only when it serves: a part that is not there."""
    if graph.is_2 and not (version / _VARIABLES).is_file():
        return f"it has no {_VARIABLES}: it is half copied"
    return ""


def _warm_up(version: Path) -> list[int | None]:
    """The rows of the warm-up's requests. Raises NoSavedModelError where it is torn."""
    try:
        return warm_up.rows(version / layout.EXTRA / layout.WARM_UP)
    except FileNotFoundError:
        return []
    except WireError as error:
        name = f"{layout.EXTRA}/{layout.WARM_UP}"
        raise NoSavedModelError(f"{name} has {error}: it is half copied, or damaged") from None


def _unfit(graph: MetaGraph, own: str) -> str:
    """Why a model can't be for this server, whatever its variables are; empty if it can."""
    if SIGNATURE not in graph.signatures:
        there = ", ".join(sorted(graph.signatures)) or "none"
        return f"it has no signature {SIGNATURE}, which clients ask for; its signatures: {there}"
    if _minor(graph.tensorflow) > _minor(own):
        return (
            f"it was exported by TensorFlow {graph.tensorflow}, and this is {own}: take a server "
            f"and a trainer image of {graph.tensorflow} or later"
        )
    return ""


def _asked(
    seen: Version, session: Session, record: ExportRecord | None, tolerance: float
) -> Version:
    """Send the recorded request, if there is one."""
    if record is None or record.request is None or record.answer is None:
        return seen
    signature = session.meta_graph.signatures.get(record.signature)
    if signature is None:
        return replace(seen, problem=f"the recorded request is for {record.signature}, not there")
    try:
        apart = difference(record.answer, session.run(signature, record.request))
    except SessionError as error:
        return replace(seen, problem=f"the recorded request fails: {_cut(str(error))}")
    except OtherAnswerError as error:
        return replace(seen, problem=f"it answers otherwise than recorded: {error}")
    seen = replace(seen, difference=apart)
    if apart > tolerance:
        why = f"it answers otherwise than recorded: by {apart:.2g}, more than {tolerance:g}"
        return replace(seen, problem=why)
    return seen


def _note(graph: MetaGraph, record: ExportRecord | None) -> str | None:
    """What makes it hard to serve, though it loads."""
    signature = graph.signatures.get(SIGNATURE)
    for name, info in sorted(signature.inputs.items()) if signature else ():
        if info.shape and info.shape[0] is not None:
            return f"a fixed batch dimension: its input {name} takes {info.shape[0]} rows, no other"
    request = record.request if record and record.signature == SIGNATURE else None
    rows = {array.shape[0] for array in (request or {}).values() if array.ndim}
    if rows and rows != {1}:
        return f"a fixed batch dimension: it answered {max(rows)} rows and not one when exported"
    return None


def _size(version: Path) -> int:
    return sum(one.stat().st_size for one in version.rglob("*") if one.is_file())


def _minor(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def _cut(words: str) -> str:
    one_line = " ".join(words.split())
    return one_line if len(one_line) <= _LONGEST else f"{one_line[:_LONGEST]}…"


def main(arguments: list[str]) -> int:
    """`look VERSION TOLERANCE [LIBRARY]`: print the version as one line of JSON."""
    version, tolerance, *library = arguments
    seen = look(
        Path(version), Path(library[0]) if library else installed_library(), float(tolerance)
    )
    print(json.dumps(asdict(seen), allow_nan=False), flush=True)
    return 0


if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
    except SessionError as error:
        print(error, file=sys.stderr, flush=True)
        code = 2
    sys.stdout.flush()
    os._exit(code)  # a session that is not closed may wait for its threads
