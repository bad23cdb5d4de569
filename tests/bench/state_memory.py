"""What each task has in memory for each byte of the run's state: an embedding with Adam.

Two runs from the first step to the end, of a table and of a larger one; the difference of the peaks
against that of the states. Memory hardly depends on what else the machine does.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress

from tests.bench import processes
from tests.bench.embedding_size import document
from tests.bench.measure import Measure, Sample
from tests.bench.ours_run import Ours
from tests.bench.rates import COMBINATIONS
from tests.bench.rows import Bar, Figure

ROWS = {
    # The chief's memory at the end differs by some 50 MiB from run to run.
    "in-graph-async": (5_000_000, 20_000_000),
    # Worker 0 makes a model below 256 MiB with all its values.
    "between-graph-async": (5_000_000, 10_000_000),
}
COPIES = 3  # the model and Adam's two slots
ROW_BYTES = COPIES * 16 * 4
PS = 2
# Of the state, the ps with the most has so much: between-graph no table of these is cut.
SHARES = {"in-graph-async": 1 / PS, "between-graph-async": 1.0}
STEPS, CHECKPOINTS = 600, 4
PERIOD = 0.1
CLIENT = {"in-graph-async": "chief-0", "between-graph-async": "worker-0"}
STEPPING, ENDING, ON_PS = "client, steps and saves", "client, evaluate and export", "ps"
BARS = {
    STEPPING: Bar("≤ 0.05 × of the state", 0.05),
    ENDING: Bar("≤ 0.05 × of the model", 0.05),
    ON_PS: Bar("≤ 1.25 × of its share", 1.25),
}


def growth(name: str) -> Measure:
    """Peaks of the client and of a ps, by combination.

    They are of resident pages; after the last step of the client's own, since pages of the
    checkpoint's files leave memory when another needs it.
    """

    few, many = ROWS[name]

    def take(count: int) -> Iterator[Sample]:
        for _ in range(count):
            small, large = (_peaks(name, rows) for rows in (few, many))
            states = {STEPPING: 1.0, ENDING: 1 / COPIES, ON_PS: SHARES[name]}
            bytes_more = (many - few) * ROW_BYTES
            yield {
                column: (large[column] - small[column]) / (bytes_more * part)
                for column, part in states.items()
            }

    smaller = f"a state of {few * ROW_BYTES >> 20} MiB"
    rows = [
        Figure(
            f"memory for each byte of the state, {name}, {column}",
            bar,
            (column,),
            against=f"{smaller}, for one {many / few:g} times as large",
        )
        for column, bar in BARS.items()
    ]
    return Measure(take, 6, 10, dict.fromkeys(BARS, "×"), rows)


def _peaks(name: str, rows: int) -> dict[str, float]:
    """Bytes, by column."""
    told = document(rows, {**COMBINATIONS[name].settings, "ps": PS})
    told["train"] |= {
        "steps": STEPS,
        "checkpoint": {"seconds": 3600, "steps": STEPS // CHECKPOINTS, "keep": 1},
        "reportSeconds": 0.5,
    }
    found = dict.fromkeys(BARS, 0.0)
    with Ours(told) as training:
        training.wait_for_all()
        while training.processes()[0].poll() is None:
            tasks = training.tasks()
            with suppress(ProcessLookupError, FileNotFoundError):
                if client := tasks.get(CLIENT[name]):
                    # Not the last look's: the supervisor outlives its child.
                    steps_are_made = training.points()[-1].step >= STEPS
                    column = ENDING if steps_are_made else STEPPING
                    field = "RssAnon" if steps_are_made else "VmHWM"
                    peak = float(processes.resident(client[-1], field))
                    found[column] = max(found[column], peak)
                for task in (f"ps-{index}" for index in range(PS)):
                    if task in tasks:
                        peak = float(processes.resident(tasks[task][-1], "VmHWM"))
                        found[ON_PS] = max(found[ON_PS], peak)
            time.sleep(PERIOD)
        if code := training.processes()[0].returncode:
            raise RuntimeError(f"ended with {code}:\n{training.words()}")
    return found


MEASURES = {f"memory-state-{name}": growth(name) for name in CLIENT}
