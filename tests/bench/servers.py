"""One server alone: what it saves to load TensorFlow without its Python API."""

from __future__ import annotations

import tempfile
import time
from functools import partial
from pathlib import Path

from tf_cluster_trainer.bare_tensorflow import WHOLE_VARIABLE
from tf_cluster_trainer.protocol import Serving

from tests.bench import processes
from tests.bench.pairs import Comparison, one_pair
from tests.bench.rows import Row, ratio_row
from tests.bench.training import quiet_environment
from tests.trainer.child.world import World

MEBIBYTE = 2**20


def server(pairs: int) -> list[Row]:
    """A ps' child as it is against one that imports tensorflow: until it serves, and its memory."""
    bare, whole = (partial(_served, whole=whole) for whole in (False, True))
    found = [one_pair(bare, whole, number) for number in range(pairs)]
    seconds, memory = (
        Comparison(tuple(ours[at] for ours, _ in found), tuple(theirs[at] for _, theirs in found))
        for at in (0, 1)
    )
    against = "the same with TensorFlow's Python API"
    return [
        ratio_row("one ps, process start until it serves", against, None, seconds),
        ratio_row(
            "one ps without variables, resident memory",
            against,
            None,
            memory,
            unit="MiB",
            scale=MEBIBYTE,
        ),
    ]


def _served(*, whole: bool) -> tuple[float, float]:
    """Seconds, and bytes."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**quiet_environment(), WHOLE_VARIABLE: "1" if whole else ""}
        with World(Path(folder), workers=1, ps=1, environment=environment) as world:
            began = time.monotonic()
            child = world.start("ps")
            child.wait_for(Serving)
            return time.monotonic() - began, processes.resident(child.process.pid)
