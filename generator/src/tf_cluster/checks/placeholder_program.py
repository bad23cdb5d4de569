"""A program in a directory that only stands for one."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

UNKNOWN = "/CHANGE-ME"
"""What `convert` writes for a directory that a manifest does not tell. No image has it."""

NOT_NAMED = Code(
    "TFC352",
    "a program in a directory that only stands for one",
    why=(
        "`tf-cluster convert` writes /CHANGE-ME where a manifest does not say where the program "
        "is. No image has this directory, so every task would fail at its start."
    ),
    wrong="program: {script: /CHANGE-ME/train.py}",
    right="program: {script: /opt/train.py}",
)

_PLACES: tuple[Pointer, ...] = (("program", "script"), ("program", "path"))
_FIX = "name the script by its path in the image, or bring it by program.source"


def check(params: Params) -> Iterator[Finding]:
    """A finding on each path that a person still has to name."""
    for at in _PLACES:
        path = params.value_at(at) or ""
        if f"{path}/".startswith(f"{UNKNOWN}/"):
            where = params.origin_of(at)
            message = f"{dotted(where)} is {cut(path)}, which convert writes for a path not known"
            yield params.finding(where, NOT_NAMED, message, path, _FIX)
