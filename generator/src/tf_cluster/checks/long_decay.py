"""A decay of the learning rate that goes on after the run."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.values import Flag
from tf_cluster.pointer import Pointer, dotted

LONG_DECAY = Code(
    "TFC412",
    "a decay of the learning rate that the run does not finish (advice)",
    why=(
        "The run ends at a rate above the one that the schedule ends at. It is meant where "
        "train.steps is raised later; else the decay is best left to the rest of the run."
    ),
    wrong="train: {steps: 100, optimizer: {schedule: {name: linear, decaySteps: 200}}}",
    right="train: {steps: 100, optimizer: {schedule: {name: linear}}}",
)

_SCHEDULE: Pointer = ("train", "optimizer", "schedule")
_STEPS: Pointer = ("train", "steps")


def check(params: Params) -> Iterator[Finding]:
    """Advice if warm-up and decay take more steps than the file says; of --steps nothing is said.

    Of a warm-up that alone takes as many TFC321 tells.
    """
    schedule = params.value_at(_SCHEDULE) or {}
    total, decay = params.value_at(_STEPS), schedule.get("decaySteps")
    warmup = schedule.get("warmupSteps") or 0
    if total is None or decay is None or schedule.get("name") == "constant":
        return
    if not warmup < total < warmup + decay or isinstance(params.origin_of(_STEPS)[0], Flag):
        return
    where = params.origin_of((*_SCHEDULE, "decaySteps"))
    first = f" after {warmup} of warm-up" if warmup else ""
    message = f"the learning rate falls for {decay} steps{first}, and the run has {total}"
    fix = f"leave {dotted(where)} out for the rest of the run, or set it to {total - warmup}"
    yield params.finding(where, LONG_DECAY, message, decay, fix, "advice")
