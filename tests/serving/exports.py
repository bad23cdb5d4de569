"""A version as the trainer exports it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tf_cluster_trainer.checkpoint.export import About, export
from tf_cluster_trainer.examples.digits import Digits
from tf_cluster_trainer.program.context import Flags
from tf_cluster_trainer.program.trial import build_model, run_trial

from tests.support.trainings import context

SHAPE = (8, 8, 1)
INPUT = "image"


def digits(base: Path) -> tuple[Path, Any]:
    """Version 1 of the digits example, not trained, below `base`; and its Keras model."""
    ctx = dataclasses.replace(context(base.parent), flags=Flags({"units": 64}))
    features = run_trial(Digits(), ctx).features
    model = build_model(Digits(), ctx, features)
    return export(model, features, About("digits", "1", 1), base, check_owner=lambda: None), model
