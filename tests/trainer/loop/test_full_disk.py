"""A volume that takes no more bytes: what goes on and what is left to a retry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer.checkpoint import export
from tf_cluster_trainer.protocol import Progress

from tests.trainer.loop.reporting import Disk, Heard, at, reports_to


def steps(events: Path) -> list[int]:
    return [
        event.step
        for file in sorted(events.iterdir())
        for event in tf.compat.v1.train.summary_iterator(str(file))
        if event.summary.value
    ]


def test_points_that_the_disk_does_not_take_are_said_once_and_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    disk, channel = Disk(monkeypatch), Heard()
    disk.full = True
    some = reports_to(tmp_path, channel)
    some.report(at(1))
    disk.full = False
    some.report(at(2))
    some.report(at(3))
    some.close()
    assert [one.step for one in channel.messages if isinstance(one, Progress)] == [0, 1, 2, 3]
    said = capfd.readouterr()
    assert (said.out + said.err).count("TensorBoard's events can't be written") == 1
    assert steps(tmp_path) == [2, 3]


def test_a_directory_for_points_that_can_not_be_made_ends_nothing(tmp_path: Path) -> None:
    (tmp_path / "events").write_text("a file")
    some = reports_to(tmp_path / "events")
    some.report(at(1))
    some.close()


def test_an_export_that_the_disk_does_not_take_is_no_error_of_tensorflows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", full)
    model = tf_keras.Sequential([tf_keras.layers.Input((4,)), tf_keras.layers.Dense(1)])
    spec = tf.TensorSpec([None, 4], tf.float32)
    with pytest.raises(OSError, match="No space left on device"):
        about = export.About("digits", "1", 1)
        export.export(model, spec, about, tmp_path, check_owner=lambda: None)
    assert list(tmp_path.iterdir()) == []
