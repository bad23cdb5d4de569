"""`python -m tests.generator.mutations SEED NUMBER`: check so many files, print what went wrong.

A process of its own, so that its memory is that of the files alone.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator

from tf_cluster.check import Checked, check
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.formats import Format, report
from tf_cluster.fixes import fixed, repairable
from tf_cluster.printable import printable

from tests.bench import processes
from tests.generator.mutations.files import mutated
from tests.generator.seconds import is_too_long

MOST_MIB = 200


def complaints(raw: bytes) -> Iterator[str]:
    """What is wrong with what the tool says of a file."""
    start = time.process_time()
    checked = check("p.yaml", raw)  # raises when it makes what the chart refuses
    text = report(checked.findings, Format.TEXT)
    if checked.good:
        text_of_values = values_text(checked.values, "p", preset_name(checked.document.data))
        assert text_of_values.isprintable() or "\n" in text_of_values
    seconds = time.process_time() - start
    if is_too_long(seconds):
        yield f"check: {seconds:.1f} s of CPU"
    lines = raw.count(b"\n") + 1
    for finding in checked.findings:
        if not (1 <= finding.place.line <= lines + 1 and finding.place.column >= 1):
            yield f"no place: {finding.place} {finding.words}"
    for line in text.splitlines():
        placed = line.startswith("p.yaml:") or line.endswith("not shown")
        if printable(line) != line or not placed:
            yield f"raw: {line!r}"
    for form in (Format.JSON, Format.GITHUB, Format.SARIF):
        for line in report(checked.findings, form).splitlines():
            if printable(line) != line and form is not Format.GITHUB:
                yield f"raw in {form.value}: {line!r}"
    for unsafe in (False, True):
        if repairable(checked.findings, unsafe=unsafe):
            yield from _of_fixes(raw, checked, unsafe=unsafe)
        elif fixed("p.yaml", raw, unsafe=unsafe).raw != raw:
            yield "changed without a repair"


def _of_fixes(raw: bytes, before: Checked, *, unsafe: bool) -> Iterator[str]:
    start = time.process_time()
    done = fixed("p.yaml", raw, unsafe=unsafe)  # raises when something new is wrong
    seconds = time.process_time() - start
    if is_too_long(seconds, 2):  # it checks twice and more
        yield f"fixes: {seconds:.1f} s of CPU"
    if before.good and done.raw != raw:
        yield "a good file was changed"
    if done.left.values.data != before.values.data:
        yield "a value has another meaning"
    new = Counter(f.code for f in done.left.findings) - Counter(f.code for f in before.findings)
    if new:
        yield f"new findings: {dict(new)}"
    if fixed("p.yaml", done.raw, unsafe=unsafe).raw != done.raw:
        yield "fixes are not made at once"


def main(seed: int, number: int) -> None:
    """Print `{"failed": […], "mib": …, "slowest": …}`."""
    failed, slowest = [], 0.0
    for index in range(number):
        raw = mutated(random.Random(seed * 1_000_003 + index))
        start = time.process_time()
        try:
            said = list(complaints(raw))
        except Exception:
            said = [traceback.format_exc()]
        slowest = max(slowest, time.process_time() - start)
        failed += [f"file {index}: {one}" for one in said[:3]]
    # Not `ru_maxrss`: Linux counts what the parent held when it started this process.
    peak = processes.resident(os.getpid(), "VmHWM") >> 20
    print(json.dumps({"failed": failed, "mib": peak, "slowest": slowest}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
