"""The program's paths, which have to be absolute in a container."""

import posixpath
import re
from collections.abc import Iterator

from tf_cluster.expand.source import has_source
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.wording import SCRIPT_ALONE
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

PATH_NOT_ABSOLUTE = Code(
    "TFC309",
    "a path in a container has to be absolute",
    why="A pod has no directory that the path could be relative to.",
    wrong="program: {module: 'nets.digits:Digits', path: code}",
    right="program: {module: 'nets.digits:Digits', path: /data/code}",
)


_FILE = re.compile(r"[A-Za-z0-9_.-][A-Za-z0-9_. /-]*")


def check(params: Params) -> Iterator[Finding]:
    """Findings on relative paths, where no program.source gives them a base."""
    at: Pointer = ("program", "path")
    path = params.value_at(at)
    # A source with findings is left out of the values, but the file does have one.
    said = params.written_at(("program", "source")) is not None
    fetched = said or has_source(params.effective)
    if path and not path.startswith("/") and not fetched:
        where = params.origin_of(at)
        message = f"{dotted(where)} is '{path}'; in a container it has to be absolute"
        fix = "put the code in the image, or on the data volume: /data/…"
        yield params.finding(where, PATH_NOT_ABSOLUTE, message, path, fix)
    script: Pointer = ("program", "script")
    name = params.value_at(script)
    if name and not path and not name.startswith("/") and not fetched:
        where = params.origin_of(script)
        message = f"{dotted(where)} is '{name}'; in a container it has to be absolute"
        fix = _fix(name)
        yield params.finding(where, PATH_NOT_ABSOLUTE, message, name, fix)


def _fix(name: str) -> str:
    """What to write in place of a script's name that is no path in a container."""
    short = posixpath.normpath(name)
    first, *rest = name.split()
    if rest and (posixpath.basename(first).startswith("python") or first.endswith(".py")):
        return SCRIPT_ALONE
    if "://" in name:
        return "name a path in the image or on the data volume; program.source fetches code"
    if _FILE.fullmatch(short) and not short.startswith(".."):
        short = cut(short)
        return f"add source: {{files: [{short}]}}, or put it on the data volume, as /data/{short}"
    return "write its path in the image, or on the data volume, as /data/train.py"
