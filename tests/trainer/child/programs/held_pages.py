"""What another machine may do while an evaluator measures: it removes the checkpoint."""

from __future__ import annotations

import shutil
from typing import Any

from tf_cluster_trainer import Context

from tests.trainer.child.programs.in_pieces import InPieces


class Removed(InPieces):
    """Each checkpoint that an evaluator holds is gone while its values are used."""

    def evaluate(self, ctx: Context, model: Any) -> dict[str, float]:
        for held in ctx.run_dir.glob("held/evaluator-*/*"):
            shutil.rmtree(ctx.run_dir / "checkpoints" / held.name)
            # These are the last names of their files.
            assert {file.stat().st_nlink for file in held.iterdir()} == {1}
        return super().evaluate(ctx, model)
