"""What takes turns of four commits: cases of minutes, and programs that take minutes to build."""

from __future__ import annotations

from tests.slices import slice_number
from tools.machine.tools import OLDER_KUBERNETES, older_api_server

OF = 4
# The numbers for `in_turn(…, of=OF)`: each of the four has about as much to do.
OLDEST_KUBERNETES = ENDING = PRUNE = 0
LIFE_CYCLE = GANGS = MONITORING = OPERATIONS_PAGE = 1
METRICS = EVERYTHING = NODE_FAULTS = DOCTOR_LATER = 2
SERVING = PRUNE_RUNS = PREEMPTION = HEKETI = QUEUE = 3
# Argo CD's rarer cases: the longest ones are alone, or beside a short one.
UMBRELLA = LARGE_CONFIGMAP = 0
QUEUEING_PS = MANY_TASKS = 1
NO_PRUNING = 2
LOST_WORKER = APPLICATION_SET = 3
# The two ways of a large state: the first, and the second two commits later.
LARGE_STATE = 0
# What the cases of a number need and is built beside the others. Prometheus and Heketi's rules are
# built by the case that asks for them first.
PROGRAMS = {
    OLDEST_KUBERNETES: (older_api_server(OLDER_KUBERNETES[0]),),
    GANGS: ("coscheduling",),
    METRICS: ("metrics-server",),
    QUEUE: ("kueue",),
}


def programs(*, full: bool) -> tuple[str, ...]:
    """Those of this commit's turn, or all."""
    turns = tuple(PROGRAMS) if full else (slice_number() % OF,)
    return tuple(name for turn in turns for name in PROGRAMS.get(turn, ()))
