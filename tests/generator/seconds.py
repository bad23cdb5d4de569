"""CPU seconds that a check may take on this machine, as it is now.

Other work on the cores makes each second of CPU do less. So the limit is no number of seconds, but
ten times what a file of a tenth of the findings takes at that time.
"""

from __future__ import annotations

import time

from tf_cluster.check import check

LEAST_SECONDS = 2.0
_LINES = "".join(f"x{at}: [1, 'a b', {{c: {at}}}]\n" for at in range(2_000))
_FILE = f"name: a\nimage: r/i:1\nprogram: {{module: 'p.m:C'}}\n{_LINES}".encode()


def is_too_long(seconds: float, times: float = 1) -> bool:
    """Whether so many CPU seconds, just spent, are more than `times` a file of 20,000 findings."""
    return seconds > times * LEAST_SECONDS and seconds > times * 10 * _of_2000_findings()


def _of_2000_findings() -> float:
    start = time.process_time()
    found = len(check("p.yaml", _FILE).findings)
    assert found >= 2_000
    return time.process_time() - start
