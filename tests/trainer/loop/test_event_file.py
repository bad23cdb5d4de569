"""Event files as TensorBoard itself follows them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator
from tf_cluster_trainer.loop.event_file import EventFile

NOON = 1_800_000_000.0


@pytest.mark.parametrize("later", [60.0, 0.0, -3600.0], ids=["later", "same-second", "set-back"])
def test_the_points_of_the_next_start_are_seen_whatever_the_clock(
    tmp_path: Path, later: float
) -> None:
    watched = EventAccumulator(str(tmp_path))
    for begun, steps in ((NOON, (1, 2, 3)), (NOON + later, (3, 4))):
        write(tmp_path, begun, steps)
        watched.Reload()
    # What the second start makes again replaces what the first one told.
    assert [event.step for event in watched.Tensors("loss")] == [1, 2, 3, 4]


def write(directory: Path, begun: float, steps: tuple[int, ...]) -> None:
    file = EventFile(directory, step=steps[0], clock=ticking(begun).__next__)
    for step in steps:
        file.scalars(step, {"loss": 1.0})
    file.close()


def ticking(begun: float) -> Iterator[float]:
    while True:
        yield begun
        begun += 0.01
