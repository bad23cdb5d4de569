"""What a training of `Children` leaves, and what a test tells a program without one."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from tf_cluster_trainer.config import COMBINATIONS, Task
from tf_cluster_trainer.program.context import Context, Flags

from tests.support.children import Children

# The `program.path` of programs that lie among the tests.
HERE = str(Path(__file__).parents[2])


def saved(world: Children, run_id: str, step: int, kind: str = "model/") -> dict[str, Any]:
    """The model's tensors in a checkpoint, by variable, or those of another kind."""
    reader = tf.train.load_checkpoint(
        str(world.run_dir(run_id) / "checkpoints" / f"ckpt-{step}" / "variables")
    )
    return {
        name.removeprefix(kind): reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if name.startswith(kind)
    }


def learning_rates(world: Children, run_id: str) -> list[tuple[int, float]]:
    """Step and rate of all points in TensorBoard's files, by step."""
    return sorted(
        (event.step, float(tf.make_ndarray(value.tensor)))
        for file in (world.run_dir(run_id) / "events").iterdir()
        for event in tf.compat.v1.train.summary_iterator(str(file))
        for value in event.summary.value
        if value.tag == "learning_rate"
    )


def context(tmp_path: Path) -> Context:
    """As much of a context as the program, the model's seed and an export need."""
    settings: Any = SimpleNamespace(
        run_name="digits",
        run_id="1",
        seed=1,
        batch_size=8,
        micro_batches=1,
        precision="float32",
        combination=COMBINATIONS[0],
    )
    task = Task("chief", 0, "", "")
    return Context(task, settings, Flags({}), tmp_path, tmp_path, tmp_path)
