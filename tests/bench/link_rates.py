"""Steps a second where each task has a link of 1 Gbit/s: variables in parts against whole ones."""

from __future__ import annotations

from functools import partial

from tests.bench.hand_run import Program
from tests.bench.links_run import ByHandOnLinks, OursOnLinks
from tests.bench.measure import Measure
from tests.bench.pairs import NAMES
from tests.bench.rates import SAMPLES, dense, in_turn
from tests.bench.rows import Ratio, at_least

# With two workers a link is busy in both directions, as one worker's never is.
WORKERS = PS = 2
# A step by hand may take three seconds, and some have to end in a turn.
in_link_turns = partial(in_turn, turns=2, settle=2.0, seconds=10.0)


def partitioned() -> Measure:
    """A dense variable of 100 MB that two ps share against one that has it whole."""
    document = {**dense(), "workers": WORKERS, "ps": PS}
    loop = Program("in_graph_async.py", ("dense",), 1, workers=WORKERS, ps=PS)
    row = Ratio(
        "steps/s, 2 workers, 2 ps, each task's link 1 Gbit/s, one dense variable of 100 MB, "
        "our default (partitioned)",
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


MEASURES = {"partitioned-links": partitioned()}
