"""What takes turns of two commits: cases of minutes, and programs that take minutes to build."""

from __future__ import annotations

from tests.slices import slice_number
from tools.machine.tools import OLDER_KUBERNETES, older_api_server

# The number for `in_turn(…, of=2)`, and the programs of the cases that have it.
OLDEST_KUBERNETES = METRICS = 0
GANGS = 1
PROGRAMS = {
    OLDEST_KUBERNETES: (older_api_server(OLDER_KUBERNETES[0]), "metrics-server"),
    GANGS: ("coscheduling",),
}
# The two longest cases.
EVERYTHING, LARGE_STATE = 0, 1


def programs(*, full: bool) -> tuple[str, ...]:
    """Those of this commit's turn, or all."""
    turns = PROGRAMS if full else [slice_number() % len(PROGRAMS)]
    return tuple(name for turn in turns for name in PROGRAMS[turn])
