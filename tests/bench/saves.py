"""What a save of a large state costs: by the ps, streamed through the chief, and copied first.

The model hardly trains, so the CPU that all tasks use while it saves is the save's. What they use
in the same time without a save is taken off.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from tests.bench import processes
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours, params
from tests.bench.rates import COMBINATIONS
from tests.bench.rows import Ratio, at_most
from tests.support.waiting import eventually

TABLE_ROWS = 3_000_000
GIB = TABLE_ROWS * 16 * 4 * 3 / (1 << 30)  # the table and Adam's two slots
PS = 2
SAVES = 3
EVERY_SECONDS = 12.0
SETTLED_SECONDS = 1.0  # after a save the old checkpoint is removed
QUIET_SECONDS = 3.0
WAYS: dict[str, tuple[str, bool]] = {
    "ps": ("programs:Still", True),
    "streamed": ("programs:Still", False),
    "copied": ("copied:Still", False),
}


def _take(count: int) -> Iterator[Sample]:
    for number in range(count):
        order = [*WAYS][number % 3 :] + [*WAYS][: number % 3]
        found: dict[str, float] = {}
        for way in order:
            seconds, cpu = _saved(way)
            found |= {f"{way}, seconds": seconds, f"{way}, CPU": cpu}
        yield found


def _saved(way: str) -> tuple[float, float]:
    """Seconds of a save, and CPU seconds of all tasks, for each GiB."""
    module, by_ps = WAYS[way]
    told: dict[str, Any] = params(
        steps_per_call=1,
        report=5,
        flags={"rows": TABLE_ROWS},
        workers=1,
        **{**COMBINATIONS["in-graph-async"].settings, "ps": PS},
    )
    told["program"]["module"] = module
    told["train"] |= {"batchSize": 1, "checkpoint": {"seconds": EVERY_SECONDS, "keep": 1}}
    told["extraValues"] = {"ps": {"logVolume": by_ps}}
    with Ours(told) as training:
        training.wait_for_all()
        told_to = processes.environment(training.tasks()["chief-0"][0])["TF_CLUSTER_CONFIG"]
        cluster = json.loads(Path(told_to, "cluster.json").read_text())
        (chief,) = cluster["status"]["chief"]

        def until(saves: int) -> tuple[float, float]:
            """The save of this number: how long all took, and the CPU when it was through."""

            def through() -> float | None:
                count, seconds = _known(chief, way)
                return seconds if count >= saves else None

            return eventually("a save", through, 180), training.cpu()

        until(1)
        time.sleep(SETTLED_SECONDS)
        before = training.cpu()
        time.sleep(QUIET_SECONDS)  # what is measured: so long without a save
        quiet = (training.cpu() - before) / QUIET_SECONDS
        (first, began), at = until(1), time.monotonic()
        last, ended = until(1 + SAVES)
        cpu = ended - began - quiet * (time.monotonic() - at)
        return (last - first) / SAVES / GIB, cpu / SAVES / GIB


def _known(address: str, way: str) -> tuple[float, float]:
    """How many checkpoints were saved this way, and the seconds of all of them."""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=10) as page:
        text = page.read().decode()
    found = {
        sample.name: sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.labels.get("way") == way
    }
    name = "tf_cluster_checkpoint_seconds"
    return found[f"{name}_count"], found[f"{name}_sum"]


def _row(way: str, what: str, column: str, limit: float) -> Ratio:
    return Ratio(
        f"{what} of a save, for each GiB of state, {way}",
        "a copy that is then written",
        at_most(limit),
        (f"{column}, {what}", f"copied, {what}"),
    )


MEASURES = {
    "saves": Measure(
        _take,
        9,
        30,
        {f"{way}, {what}": "s" for way in WAYS for what in ("seconds", "CPU")},
        [
            _row("by the ps", "seconds", "ps", 0.35),
            _row("streamed through the chief", "seconds", "streamed", 0.5),
            _row("by the ps", "CPU", "ps", 0.5),
            _row("streamed through the chief", "CPU", "streamed", 0.5),
        ],
    )
}
