"""The values files beside params files: their names, whether they are up to date, writing them."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

from tf_cluster.diff import present, unified
from tf_cluster.exits import RefusedError
from tf_cluster.expand.values_file import is_foreign
from tf_cluster.files import (
    STDIO,
    keep_copy,
    refuse_folder,
    refuse_link_out,
    shown_name,
    write_whole,
)
from tf_cluster.findings.file_codes import DRIFT
from tf_cluster.findings.finding import Finding, Place
from tf_cluster.findings.formats import Unread
from tf_cluster.many.find import SUFFIXES


@dataclass(frozen=True)
class Drift:
    """A values file that is not what its params file asks for, and how it would change."""

    finding: Finding
    diff: str


def values_name(file: str, folder: str = "") -> str:
    """`x.values.yaml` for `x.params.yaml`, beside it or in a folder. Raises RefusedError."""
    if file == STDIO:
        raise RefusedError("of standard input only -o FILE says where its values belong")
    path = Path(file)
    stem = next((path.name.removesuffix(end) for end in SUFFIXES if path.name.endswith(end)), "")
    if not stem:
        raise RefusedError(
            f"{file}: values are named after NAME{SUFFIXES[0]}: call it so, or name it alone with "
            "-o FILE"
        )
    beside = os.path.join(folder or path.parent, f"{stem}.values.yaml")  # noqa: PTH118
    return beside.removeprefix("./") if not file.startswith("./") else beside


def values_names(files: Sequence[str], folder: str = "") -> tuple[dict[str, str], list[Unread]]:
    """The values file of each params file, and those that have none, or one with another file."""
    names: dict[str, str] = {}
    refused: list[Unread] = []
    for file in files:
        try:
            names[file] = values_name(file, folder)
        except RefusedError as error:
            refused.append(Unread(file, str(error)))
    shared = Counter(os.path.realpath(name) for name in names.values())
    for file, name in list(names.items()):
        if shared[os.path.realpath(name)] > 1:
            refused.append(Unread(file, f"{file}: {name} would be another file's values, too"))
            del names[file]
    return names, refused


def drift(file: str, values: str, text: str, command: str) -> Drift | None:
    """How a values file differs from `text`, its right content; None when it does not.

    `command` writes it. Raises RefusedError when it can't be read.
    """
    path = Path(values)
    refuse_link_out(path)
    old = present(path)
    if old == text.encode():
        return None
    name = shown_name(file)
    there = os.path.lexists(path)
    found = Finding(
        values,
        Place(_first_other_line(old, text.encode()), 1),
        DRIFT,
        f"not what {name} asks for" if there else f"the values that {name} asks for are not there",
        fix=f"write it: {command}",
    )
    return Drift(found, unified(values, old, text, "generated"))


def _first_other_line(old: bytes, new: bytes) -> int:
    """The first line of the old text that the new one does not have there; its last, if it ends."""
    lines = old.splitlines()
    pairs = zip(lines, new.splitlines(), strict=False)
    equal = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    return max(1, min(equal + 1, len(lines)))


def write_values(values: str, text: str, *, force: bool, then: str = "") -> Iterator[str]:
    """Write a values file unless it is up to date, and say what was done. Raises RefusedError.

    A file of someone else is kept under another name unless `force`. `then` follows what is said.
    """
    refuse_folder(values)
    path = Path(values)
    refuse_link_out(path)
    if _is(path, text):
        return
    if not force and is_foreign(path):
        yield f"{values} was not written by tf-cluster: kept as {keep_copy(path)}"
    write_whole(path, text)
    yield f"wrote {values}{then}"


def _is(path: Path, text: str) -> bool:
    try:
        return path.is_file() and present(path) == text.encode()
    except RefusedError:  # told when it is written
        return False
