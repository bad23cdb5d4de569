"""The learning rate's schedule."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NOTHING_DECAYS = Code(
    "TFC319",
    "settings of a decay, with the learning rate constant",
    why="The rate stays as it is, so the setting would have no effect.",
    wrong="train: {optimizer: {schedule: {name: constant, endFactor: 0.1}}}",
    right="train: {optimizer: {schedule: {name: cosine, endFactor: 0.1}}}",
)
END_FACTOR_MISSING = Code(
    "TFC320",
    "an exponential decay without its end",
    why="An exponential decay never comes to 0, so its end has to be said.",
    wrong="train: {optimizer: {schedule: {name: exponential}}}",
    right="train: {optimizer: {schedule: {name: exponential, endFactor: 0.01}}}",
)
WARMUP_TOO_LONG = Code(
    "TFC321",
    "a warm-up of the learning rate that the run does not finish (warning)",
    why=(
        "The learning rate that the file names would never be used: the run ends on the way to it."
    ),
    wrong="train: {steps: 100, optimizer: {schedule: {name: linear, warmupSteps: 100}}}",
    right="train: {steps: 100, optimizer: {schedule: {name: linear, warmupSteps: 5}}}",
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on settings that the schedule ignores or lacks, and on too long a warm-up."""
    at: Pointer = ("train", "optimizer", "schedule")
    schedule = params.value_at(at) or {}
    name = schedule.get("name")
    if name == "constant":
        for key in ("decaySteps", "endFactor"):
            setting = schedule.get(key)
            if setting is None:
                continue
            where = params.origin_of((*at, key))
            message = f"{dotted(where)} is {setting}, but by the schedule constant nothing decays"
            fix = f"set {dotted(at)}.name: cosine, linear or exponential, or leave {key} out"
            yield params.finding(where, NOTHING_DECAYS, message, setting, fix)
    elif name == "exponential" and not schedule.get("endFactor"):
        where = params.origin_of((*at, "endFactor"), (*at, "name"))
        message = "an exponential decay never comes to 0, so it needs an endFactor"
        code = END_FACTOR_MISSING
        yield params.finding(where, code, message, fix="add endFactor: 0.01, or take name: cosine")
    total = params.value_at(("train", "steps"))
    warmup = schedule.get("warmupSteps")
    if total is not None and warmup is not None and warmup >= total:
        where = params.origin_of((*at, "warmupSteps"), ("train", "steps"))
        message = f"the learning rate rises for {warmup} steps, and the run has {total}"
        fix = f"set {dotted(at)}.warmupSteps: {max(1, total // 20)}, say"
        yield params.finding(where, WARMUP_TOO_LONG, message, warmup, fix, "warning")
