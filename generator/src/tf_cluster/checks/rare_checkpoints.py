"""Checkpoints that are hours apart."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

RARE_CHECKPOINTS = Code(
    "TFC405",
    "checkpoints that are more than an hour apart (advice)",
    why=(
        "When a task is lost, training goes on from the last checkpoint: all since then is lost, "
        "too."
    ),
    wrong="train: {checkpoint: {seconds: 7200}}",
    right="train: {checkpoint: {seconds: 600}}",
)

_HOUR = 3600
_SECONDS: Pointer = ("train", "checkpoint", "seconds")


def check(params: Params) -> Iterator[Finding]:
    """Advice if a lost task may cost more than an hour; checkpoints by steps may come sooner."""
    seconds = params.value_at(_SECONDS)
    if seconds is None or seconds <= _HOUR or params.value_at(("train", "checkpoint", "steps")):
        return
    where = params.origin_of(_SECONDS)
    message = f"{dotted(where)} is {seconds}: a lost task takes back up to {seconds / _HOUR:.3g} h"
    fix = f"set it to {_HOUR} or less, or add train.checkpoint.steps"
    yield params.finding(where, RARE_CHECKPOINTS, message, seconds, fix, "advice")
