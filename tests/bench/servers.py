"""One server alone: what it saves to load TensorFlow without its Python API."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tf_cluster_trainer.protocol import Serving
from tf_cluster_trainer.servers.bare_tensorflow import WHOLE_VARIABLE

from tests.bench import processes
from tests.bench.measure import Measure, Sample
from tests.bench.pairs import one_pair
from tests.bench.rows import Ratio
from tests.bench.training import quiet_environment
from tests.support.children import Children

MIB = 2**20
SECONDS = ("until it serves", "until it serves, whole API")
MEMORY = ("memory", "memory, whole API")
WHOLE = "the same with TensorFlow's Python API"


def _take(count: int) -> Iterator[Sample]:
    """A ps' child as it is against one that imports tensorflow: until it serves, and its memory."""
    bare, whole = (partial(_served, whole=whole) for whole in (False, True))
    for number in range(count):
        ours, other = one_pair(bare, whole, number)
        yield dict(zip((*SECONDS, *MEMORY), (ours[0], other[0], ours[1], other[1]), strict=True))


def _served(*, whole: bool) -> tuple[float, float]:
    """Seconds, and MiB."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**quiet_environment(), WHOLE_VARIABLE: "1" if whole else ""}
        with Children(Path(folder), 1, 1, environment, forks=False) as world:
            began = time.monotonic()
            child = world.start("ps")
            child.wait_for(Serving)
            return time.monotonic() - began, processes.resident(child.process.pid) / MIB


MEASURES = {
    "server": Measure(
        _take,
        15,
        2,
        {**dict.fromkeys(SECONDS, "s"), **dict.fromkeys(MEMORY, "MiB")},
        [
            Ratio("one ps, process start until it serves", WHOLE, columns=SECONDS),
            Ratio("one ps without variables, resident memory", WHOLE, columns=MEMORY),
        ],
    )
}
