"""The linter's cost in CPU seconds and memory: a cold process, and each further file."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.compiled import compiled_environment
from tests.bench.measure import Measure, Sample
from tests.bench.measures import EXAMPLE, TOOL
from tests.bench.origin import ROOT
from tests.bench.pairs import one_pair
from tests.bench.rows import Bar, Figure, Ratio, at_most

MIB = 1024.0  # in KiB
LIBRARIES = (sys.executable, "-c", "import yaml, jsonschema")
IMPORTS = "`import yaml, jsonschema`"
FILES = 41
"""Of the further files; fewer than those that several processes share."""


def _cold(count: int) -> Iterator[Sample]:
    """`validate` of an example, whose program is read, against the imports of its libraries."""
    validate = (TOOL, "validate", EXAMPLE)
    for command in (validate, LIBRARIES):  # writes what Python compiled
        cost(command)
    for number in range(count):
        ours, theirs = one_pair(lambda: cost(validate), lambda: cost(LIBRARIES), number)
        yield {
            "validate": ours[0],
            "imports": theirs[0],
            "memory": ours[1],
            "memory of imports": theirs[1],
        }


def _further(count: int) -> Iterator[Sample]:
    """Many copies of an example in one process against one of them."""
    with tempfile.TemporaryDirectory() as folder:
        text = (ROOT / EXAMPLE).read_text(encoding="utf-8")
        files = [Path(folder) / str(index) / "p.params.yaml" for index in range(FILES)]
        for file in files:
            file.parent.mkdir()
            file.write_text(text, encoding="utf-8")
        names = [str(file) for file in files]
        for number in range(count):
            many, one = one_pair(
                lambda: cost((TOOL, "validate", *names)),
                lambda: cost((TOOL, "validate", names[0])),
                number,
            )
            yield {"further": 1000 * (many[0] - one[0]) / (FILES - 1)}


# A new process counts the memory of who started it: this one is smaller than what is measured.
_STARTER = """
import os, sys
null = os.open(os.devnull, os.O_RDWR)
streams = [(os.POSIX_SPAWN_DUP2, null, number) for number in (0, 1, 2)]
pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=streams)
_, status, used = os.wait4(pid, 0)
print(status, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""


def cost(command: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and most MiB of a whole process. Raises RuntimeError unless it exits 0.

    Its modules are read as compiled once before, as `pip install` leaves them.
    """
    starter = (sys.executable, "-S", "-E", "-c", _STARTER, *command)
    told = subprocess.run(
        starter, cwd=ROOT, env=compiled_environment(), check=True, capture_output=True, text=True
    ).stdout
    status, seconds, kib = told.split()
    if status != "0":
        raise RuntimeError(f"{' '.join(command)}: status {status}")
    return float(seconds), float(kib) / MIB


MEASURES = {
    "linter": Measure(
        _cold,
        31,
        1,
        {"validate": "s", "imports": "s", "memory": "MiB", "memory of imports": "MiB"},
        [
            Ratio(
                "CPU of a cold `tf-cluster validate` of a file with its program",
                IMPORTS,
                at_most(3),
                ("validate", "imports"),
            ),
            Ratio("memory of the same", IMPORTS, at_most(2), ("memory", "memory of imports")),
        ],
    ),
    "linter-files": Measure(
        _further,
        21,
        1,
        {"further": "ms"},
        [Figure("CPU of `validate` for each further file", Bar("< 2 ms", 2.0), ("further",))],
    ),
}
