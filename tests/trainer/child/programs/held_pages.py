"""What another machine may do while an evaluator measures: it removes the checkpoint."""

from __future__ import annotations

import shutil
from typing import Any

from tf_cluster_trainer import Context

from tests.trainer.child.programs.in_pieces import InPieces


class Removed(InPieces):
    """Each checkpoint that an evaluator holds is gone before its values are read."""

    def evaluate(self, ctx: Context, model: Any) -> dict[str, float]:
        for held in ctx.run_dir.glob("held/*/*"):
            shutil.rmtree(ctx.run_dir / "checkpoints" / held.name)
        return super().evaluate(ctx, model)
