"""Intervals in steps, compared with the length of the run."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params

CHECKPOINT_NEVER = Code(
    "TFC306",
    "checkpoints by steps never happen (warning)",
    why=(
        "The run is over before the first such checkpoint. Those by seconds, and the last "
        "one, are saved as always."
    ),
    wrong="train: {steps: 1000, checkpoint: {steps: 5000}}",
    right="train: {steps: 1000, checkpoint: {steps: 500}}",
)
STEPS_PER_CALL = Code(
    "TFC307",
    "one call makes more steps than the whole run (warning)",
    why=(
        "A call is whole or not made at all, so the run would make more steps than it was told to."
    ),
    wrong="train: {steps: 10, stepsPerCall: 100}",
    right="train: {steps: 1000, stepsPerCall: 100}",
)


def check(params: Params) -> Iterator[Finding]:
    """Warnings about intervals that are longer than the run."""
    total = params.value_at(("train", "steps"))
    every = params.value_at(("train", "checkpoint", "steps"))
    per_call = params.value_at(("train", "stepsPerCall"))
    if total is not None and every is not None and every > total:
        path = params.origin_of(("train", "checkpoint", "steps"), ("train", "steps"))
        message = f"a checkpoint every {every} steps never comes in a run of {total}"
        fix = "the last step is saved in any case"
        yield params.finding(path, CHECKPOINT_NEVER, message, every, fix, "warning")
    if total is not None and per_call is not None and per_call > total:
        path = params.origin_of(("train", "stepsPerCall"), ("train", "steps"))
        message = (
            f"one call makes {per_call} steps, the run has {total}: it may end after its total"
        )
        fix = f"set train.stepsPerCall: {total} or less"
        yield params.finding(path, STEPS_PER_CALL, message, per_call, fix, "warning")
