"""Programs as an evaluator sees them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tf_cluster_trainer import Context
from tf_cluster_trainer.examples.digits import Digits

from tests.trainer.child.programs.broken import Small


class Unmeasured(Small):
    """Has no evaluate of its own."""


class Breaks(Digits):
    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        raise KeyError("no such file of examples")


class NotANumber(Digits):
    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        return {**super().evaluate(ctx, model), "loss": float("nan")}
