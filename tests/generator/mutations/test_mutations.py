"""Whatever happens to a params file, the answer is findings or values the chart takes.

20,000 files: see `complaints` in __main__.py for what has to hold for each of them.
"""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.generator.conftest import ROOT
from tests.generator.mutations.__main__ import MOST_MIB
from tests.slices import sliced

PARTS, FILES = 80, 250


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_a_broken_file_is_told_at_once_and_its_fixes_are_right(part: int) -> None:
    ran = subprocess.run(
        (sys.executable, "-m", "tests.generator.mutations", str(part), str(FILES)),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout)
    assert told["failed"] == []
    assert told["mib"] <= MOST_MIB
