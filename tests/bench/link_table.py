"""What more workers, ps and micro-batches bring on links of 1 Gbit/s: tables of docs/scale.md.

`python -m tests.bench.link_table [MODEL …]` prints a table for each model; with --write it takes
the place of the one in docs/scale.md. It needs root. Each row is one start of a training of so many
steps. Bytes are counted over all of them, and do not depend on what else runs; rates and CPU do.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.bench import processes
from tests.bench.links import GIGABIT, Traffic
from tests.bench.links_run import OursOnLinks
from tests.bench.origin import ROOT, origin, tree
from tests.bench.ours_run import params
from tests.bench.rates import dense
from tests.bench.training import Point, steps_per_second

PAGE = ROOT / "docs" / "scale.md"
# Headers take the rest: 1448 bytes of a frame of 1514 are TensorFlow's.
BYTES_PER_SECOND = GIGABIT / 8 * 1448 / 1514
# The first quarter of the steps is left out of rates and CPU: functions are made and sent.
LEFT_OUT = 0.25
EVERY = 1.0  # seconds between two looks at counters
LIMIT = 600.0  # seconds that a row may take
# From these shares on it is said what a row is bound by.
LINK_BOUND, CPU_BOUND = 0.85, 0.85
HEAD = (
    "| workers | ps | micro-batches | MB a step, read + sent | of them through the busiest ps "
    "| CPU s a step | steps/s | examples/s | links allow | cores used | bound by |"
)


@dataclass(frozen=True)
class Model:
    """A program with its settings, in words, and the steps of a row."""

    words: str
    document: Mapping[str, Any]
    steps: int


@dataclass(frozen=True)
class Cell:
    """A row of a table: how many of each."""

    workers: int = 2
    ps: int = 2
    micro_batches: int = 1


@dataclass(frozen=True)
class Look:
    """The counters at a time: of each link, and CPU seconds of all tasks together."""

    time: float
    traffic: Mapping[str, Traffic]
    cpu: float


@dataclass(frozen=True)
class Moved:
    """Bytes a step: by all workers, and by the ps with the most, which may be another each way."""

    read: float
    sent: float
    ps_sends: float
    ps_gets: float

    def allowed(self, workers: int, rate: float = BYTES_PER_SECOND) -> float:
        """Steps a second that links allow: a worker reads, then sends; a ps does both at once."""
        of_workers = workers * rate / (self.read + self.sent)
        return min(of_workers, rate / max(self.ps_sends, self.ps_gets))


CELLS = (
    *(Cell(workers=workers) for workers in (1, 2, 4, 8)),
    *(Cell(ps=ps) for ps in (1, 4)),
    *(Cell(workers=4, ps=ps) for ps in (1, 4)),
    Cell(workers=8, ps=4),
    *(Cell(workers=workers, micro_batches=4) for workers in (2, 4)),
)


def models() -> Mapping[str, Model]:
    """Those of the tables, by name."""

    adam = {"optimizer": {"name": "Adam", "learningRate": 0.001}}
    table = params(
        steps_per_call=5, report=0.5, train={"batchSize": 4096, **adam}, flags={"rows": 2_000_000}
    )
    table["program"]["module"] = "programs:Table"
    text = params(
        steps_per_call=5,
        report=0.5,
        train={"batchSize": 32, **adam},
        flags={"words": 10_000, "units": 128},
    )
    text["program"] = {"module": "tf_cluster_trainer.examples.text:Text"}
    return {
        "dense": Model("one dense variable of 100 MB, 4 examples a batch", dense(), 60),
        "embeddings": Model(
            "a table of 2,000,000 rows, 16 wide (128 MB), two look-ups an example, 4,096 examples "
            "a batch",
            table,
            800,
        ),
        "recurrent": Model(
            "the example text (GRU), 10,000 words, 128 units, 32 sequences a batch", text, 200
        ),
    }


def row(model: Model, cell: Cell) -> str:
    """One start of this training, as a row of the table."""
    with OursOnLinks(document(model, cell)) as training:
        looks = looked_at(training)
        points = training.points()
    if not points or points[-1].step != model.steps:
        raise RuntimeError(f"{points[-1:]} of {model.steps} steps")
    inside = settled(points, looks)
    moved = moved_by_step(looks, inside, model.steps)
    rate = steps_per_second([point for point in points if point.time >= inside[0].time])
    examples = int(model.document["train"]["batchSize"]) * cell.micro_batches
    return told(cell, moved, rate, cpu_by_step(points, inside), examples)


def document(model: Model, cell: Cell) -> dict[str, Any]:
    """Its params."""
    train = {
        **model.document["train"],
        "steps": model.steps,
        "microBatches": cell.micro_batches,
    }
    return {**model.document, "workers": cell.workers, "ps": cell.ps, "train": train}


def settled(points: Sequence[Point], looks: Sequence[Look]) -> Sequence[Look]:
    """Those when all was warm and the last step was still to come. Raises ValueError for one."""
    warm = next(point.time for point in points if point.step >= LEFT_OUT * points[-1].step)
    inside = [look for look in looks if warm <= look.time <= points[-1].time]
    if len(inside) < 2:
        raise ValueError("too few looks between warm and done: more steps are needed")
    return inside


def moved_by_step(looks: Sequence[Look], settled: Sequence[Look], steps: int) -> Moved:
    """Bytes that workers moved from start to end; the shares of ps are those while steps ran.

    A ps also gives the chief what it saves at the end, and that is no step's.
    """
    workers = [of for task, of in looks[-1].traffic.items() if task.startswith("worker-")]
    read = sum(of.received for of in workers) / steps
    sent = sum(of.sent for of in workers) / steps
    first, last = settled[0].traffic, settled[-1].traffic
    ps = [of.since(first[task]) for task, of in last.items() if task.startswith("ps-")]
    return Moved(
        read,
        sent,
        read * _largest([of.sent for of in ps]),
        sent * _largest([of.received for of in ps]),
    )


def cpu_by_step(points: Sequence[Point], settled: Sequence[Look]) -> float:
    """CPU seconds a step."""
    first, last = settled[0], settled[-1]
    return (last.cpu - first.cpu) / (step_at(points, last.time) - step_at(points, first.time))


def step_at(points: Sequence[Point], when: float) -> float:
    """The step at a time, on a line between the points around it."""
    after = next((at for at, point in enumerate(points) if point.time >= when), len(points) - 1)
    right, left = points[after], points[max(0, after - 1)]
    if right.time <= left.time:
        return right.step
    share = min(1.0, max(0.0, (when - left.time) / (right.time - left.time)))
    return left.step + share * (right.step - left.step)


def told(cell: Cell, moved: Moved, rate: float, cpu: float, examples: int) -> str:
    """A row; what is bound by neither waits: for answers, or for whoever else runs."""
    allowed, cores = moved.allowed(cell.workers), cpu * rate
    all_cores = len(os.sched_getaffinity(0))
    bound = [
        word
        for word, there in (
            ("link", rate >= LINK_BOUND * allowed),
            ("CPU", cores >= CPU_BOUND * all_cores),
        )
        if there
    ]
    of_ps = max(moved.ps_sends, moved.ps_gets)
    cells = (
        f"{cell.workers}",
        f"{cell.ps}",
        f"{cell.micro_batches}",
        f"{moved.read / 1e6:.4g} + {moved.sent / 1e6:.4g}",
        f"{of_ps / 1e6:.3g} each way",
        f"{cpu:.3g}",
        f"{rate:.3g}",
        f"{rate * examples:.3g}",
        f"{allowed:.3g}",
        f"{cores:.2g} of {all_cores}",
        " and ".join(bound) or "neither",
    )
    return f"| {' | '.join(cells)} |"


def written(page: str, name: str, lines: Sequence[str]) -> str:
    """The page with these lines between the marks of a model's table."""
    marks = (f"<!-- links: {name} -->", f"<!-- end of links: {name} -->")
    found = re.compile(re.escape(marks[0]) + ".*?" + re.escape(marks[1]), re.DOTALL)
    if not found.search(page):
        raise ValueError(f"no place for the table {name}: {marks[0]} … {marks[1]}")
    text = "\n".join((marks[0], *lines, marks[1]))
    return found.sub(lambda _: text, page, count=1)


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the rows of the models that are named, or of all."""
    every = models()
    parser = argparse.ArgumentParser(prog="python -m tests.bench.link_table")
    parser.add_argument("models", nargs="*", metavar="MODEL", help=f"of {', '.join(every)}")
    parser.add_argument("--write", action="store_true", help=f"put them on {PAGE.name}")
    parser.add_argument("--cells", type=int, help="only so many rows: a look")
    options = parser.parse_args(arguments)
    unknown = set(options.models) - set(every)
    if unknown or (options.write and options.cells):
        parser.error(f"no model {', '.join(unknown)}" if unknown else "--cells: a look, not kept")
    for name in options.models or every:
        model, began = every[name], tree()
        rows = []
        for cell in CELLS[: options.cells]:
            rows.append(row(model, cell))
            print(rows[-1], file=sys.stderr, flush=True)
        made = origin(began, {})
        commit = made.commit[:7] + (" and changes" if made.changed else "")
        how = f"{model.steps} steps a row; {made.day}, `{commit}`."
        lines = [f"**{name}**: {model.words}.", how, "", HEAD, re.sub(r"[^|]+", "---", HEAD), *rows]
        print("\n".join(lines), flush=True)
        if options.write:
            PAGE.write_text(written(PAGE.read_text(), name, lines))
    return 0


def _largest(amounts: Sequence[int]) -> float:
    """The share of the largest."""
    return max(amounts) / sum(amounts) if sum(amounts) else 1 / len(amounts)


def looked_at(training: OursOnLinks) -> list[Look]:
    """The counters from its start until its client, the chief or worker 0, has ended well."""
    of_task = dict(zip(training.tasks(), training.processes(), strict=True))
    client = of_task.get("chief-0") or of_task["worker-0"]
    looks: list[Look] = []
    until = time.monotonic() + LIMIT
    while client.poll() is None:
        if time.monotonic() > until:
            raise RuntimeError(f"not done in {LIMIT:g} s:\n{training.words()}")
        looks.append(_look(training))
        time.sleep(EVERY)
    if client.returncode:
        raise RuntimeError(f"the client ended with {client.returncode}:\n{training.words()}")
    return [*looks, _look(training)]


def _look(training: OursOnLinks) -> Look:
    cpu = 0.0
    for pids in training.tasks().values():
        for pid in pids:
            try:
                cpu += processes.cpu_seconds(pid)
            except OSError:  # it has just ended
                continue
    return Look(time.time(), training.links.traffic(), cpu)


if __name__ == "__main__":
    sys.exit(main())
