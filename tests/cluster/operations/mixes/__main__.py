"""`python -m tests.cluster.operations.mixes SEED [NUMBER]`: what becomes of so many mixes.

The story of one seed; of several a line each, and the stories of those that went wrong. The exit
code is 1 where a bar is missed.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.cluster.operations.mixes.cluster import empty_cluster
from tests.cluster.operations.mixes.judging import AS_SAID, complaints, figures, judged


def main(first: int, number: int) -> int:
    """Print what became of the mixes of these seeds."""
    found = []
    with tempfile.TemporaryDirectory() as folder, empty_cluster(Path(folder)) as cluster:
        for seed in range(first, first + number):
            began = time.monotonic()
            one = judged(seed, cluster, Path(folder))
            found.append(one)
            told = one.story if number == 1 or one.outcome not in AS_SAID else one.line
            print(f"{told} [{time.monotonic() - began:.1f} s]", flush=True)
    print(figures(found))
    missed = complaints(found)
    print("\n".join(missed), file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
