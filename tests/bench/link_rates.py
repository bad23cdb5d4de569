"""Steps a second where each task has a link of 1 Gbit/s: variables in parts against whole ones."""

from __future__ import annotations

from functools import partial

from tests.bench.hand_run import Program
from tests.bench.links_run import ByHandOnLinks, OursOnLinks
from tests.bench.measure import Measure
from tests.bench.pairs import NAMES
from tests.bench.rates import SAMPLES, dense, in_turn
from tests.bench.rows import Ratio, at_least

PS = 2
# One whole variable: its ps' link serves two workers as well as parts do, while one reads and the
# other sends. From the third on they wait.
WORKERS = {"partitioned-links": 2, "partitioned-links-4": 4}
# A step by hand may take seven seconds, and some have to end in a turn.
in_link_turns = partial(in_turn, turns=2, settle=2.0, seconds=12.0)


def partitioned(workers: int) -> Measure:
    """A dense variable of 100 MB that two ps share against one that has it whole."""
    document = {**dense(), "workers": workers, "ps": PS}
    loop = Program("in_graph_async.py", ("dense",), 1, workers=workers, ps=PS)
    row = Ratio(
        f"steps/s, {workers} workers, {PS} ps, each task's link 1 Gbit/s, one dense variable of "
        "100 MB, our default (partitioned)",
        "by hand, unpartitioned",
        at_least(1.6),
    )
    return Measure(
        lambda count: in_link_turns(
            lambda: OursOnLinks(document), lambda: ByHandOnLinks(loop), count
        ),
        SAMPLES,
        30,
        dict.fromkeys(NAMES, "steps/s"),
        [row],
    )


MEASURES = {name: partitioned(workers) for name, workers in WORKERS.items()}
