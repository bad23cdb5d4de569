"""Checkpoints that are hours apart, or less than a second."""

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

BUSY_CHECKPOINTS = Code(
    "TFC411",
    "checkpoints that are less than a second apart (advice)",
    why=(
        "A step is seldom shorter, so nearly each one is followed by a checkpoint, and most of the "
        "time goes into writing them."
    ),
    wrong="train: {checkpoint: {seconds: 0.001}}",
    right="train: {checkpoint: {seconds: 60}}",
)

_HOUR = 3600
_SECONDS: Pointer = ("train", "checkpoint", "seconds")


def check(params: Params) -> Iterator[Finding]:
    """Advice if a lost task may cost more than an hour, or if checkpoints cost most of the time."""
    seconds = params.value_at(_SECONDS)
    if seconds is None:
        return
    where = params.origin_of(_SECONDS)
    # Checkpoints by steps may come sooner.
    if seconds > _HOUR and not params.value_at(("train", "checkpoint", "steps")):
        lost = f"a lost task takes back up to {seconds / _HOUR:.3g} h"
        message = f"{dotted(where)} is {seconds}: {lost}"
        fix = f"set it to {_HOUR} or less, or add train.checkpoint.steps"
        yield params.finding(where, RARE_CHECKPOINTS, message, seconds, fix, "advice")
    if seconds < 1:
        message = f"{dotted(where)} is {seconds}: a checkpoint is due after nearly each step"
        fix = "write seconds, as in 60"
        yield params.finding(where, BUSY_CHECKPOINTS, message, seconds, fix, "advice")
