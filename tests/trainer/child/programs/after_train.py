"""Programs with a last word."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tf_cluster_trainer import Context

from tests.trainer.child.programs.broken import Small

NOTES = "notes"


class Remembers(Small):
    """Notes which hook was called, by whom, with what, and what was there by then."""

    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        self.note("evaluate", ctx, model)
        return {"seen": 1.0}

    def after_train(self, ctx: Context, model: Any) -> None:
        self.note("after_train", ctx, model)

    def note(self, hook: str, ctx: Context, model: Any) -> None:
        note = {
            "hook": hook,
            "task": f"{ctx.task.type}-{ctx.task.index}",
            "checkpoints": sorted(p.name for p in (ctx.run_dir / "checkpoints").glob("ckpt-*")),
            "exports": sorted(p.name for p in (ctx.run_dir / "export").glob("*")),
            "kinds": sorted({type(variable).__name__ for variable in model.variables}),
            "kernel": model.layers[-1].kernel.numpy().tolist(),
        }
        with (ctx.run_dir / NOTES).open("a") as notes:
            notes.write(f"{json.dumps(note)}\n")


class UploadFailsOnce(Remembers):
    def after_train(self, ctx: Context, model: Any) -> None:
        super().after_train(ctx, model)
        if (ctx.run_dir / NOTES).read_text().count("after_train") == 1:
            raise ConnectionError("the registry does not answer")


class UploadsToNowhere(Remembers):
    def after_train(self, ctx: Context, model: Any) -> None:
        upload({"elsewhere": model})


def upload(models: Mapping[str, Any]) -> None:
    models["registry"]
