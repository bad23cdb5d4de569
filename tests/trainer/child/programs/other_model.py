"""Programs whose workers do not all build the same model."""

from __future__ import annotations

from typing import Any

import tf_keras
from tf_cluster_trainer import Context

from tests.trainer.child.programs import fixed, in_parts


class ByTask(fixed.Fixed):
    """The last worker has one more layer."""

    def build_model(self, ctx: Context) -> Any:
        model = super().build_model(ctx)
        if ctx.task.index != 1:
            return model
        return tf_keras.Model(model.inputs, tf_keras.layers.Dense(1, name="more")(model.output))


class TrainsLess(fixed.Fixed):
    """The last worker does not train one layer."""

    def build_model(self, ctx: Context) -> Any:
        model = super().build_model(ctx)
        model.layers[-1].trainable = ctx.task.index != 1
        return model


class WholeAtFirst(in_parts.Fixed):
    """The last worker's first child can't build it in parts, though it tries twice."""

    error: type[Exception] = RuntimeError

    def build_model(self, ctx: Context) -> Any:
        model = super().build_model(ctx)
        mark = ctx.log_dir / "tried"
        tried = len(mark.read_text()) if mark.exists() else 0
        if ctx.task.index == 1 and tried < 2 and any("part_" in v.name for v in model.variables):
            mark.write_text("x" * (tried + 1))
            raise self.error("for a moment")
        return model


class WithoutMemoryAtFirst(WholeAtFirst):
    """The same for a reason that is not the model's."""

    error = MemoryError
