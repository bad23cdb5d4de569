"""What TensorBoard shows of a run that went back to a checkpoint in the middle of a start."""

from __future__ import annotations

from pathlib import Path

import pytest
from tensorboard.backend.event_processing.plugin_event_accumulator import TENSORS, EventAccumulator
from tf_cluster_trainer.loop.counters import TrainingCounters

from tests.trainer.loop.reporting import Disk, reports_to


def at(step: int, *, lost: int = 0, began: int = 0) -> TrainingCounters:
    """A run that began at 0, and lost so many steps when it went on from step `began`."""
    return TrainingCounters(step, 8 * step, {"0": step}, step + lost, 1.0 * step, {}, began)


def shown(events: Path) -> list[int]:
    found = EventAccumulator(str(events), size_guidance={TENSORS: 0}).Reload()
    return [point.step for point in found.Tensors("loss")]


@pytest.mark.parametrize(
    ("reported", "told"),
    [
        pytest.param([at(5), at(3, lost=4, began=3), at(6, lost=4, began=3)], [6], id="beyond it"),
        pytest.param([at(5), at(5, lost=2, began=5), at(6, lost=2, began=5)], [5, 6], id="at it"),
        pytest.param(
            [at(4), at(5), at(8, lost=1, began=4), at(9, lost=1, began=4)],
            [4, 8, 9],
            id="beyond, and past it again",
        ),
        pytest.param(
            [at(4), at(6, lost=3, began=6), at(9, lost=3, began=6)], [4, 6, 9], id="before it"
        ),
        pytest.param([at(4), at(5), at(8, began=4), at(9, began=4)], [4, 5, 8, 9], id="none lost"),
    ],
)
def test_a_step_is_told_once_wherever_the_last_report_was(
    tmp_path: Path, reported: list[TrainingCounters], told: list[int]
) -> None:
    """Beyond the checkpoint that the run went back to, at it, or before it."""
    some = reports_to(tmp_path)
    for counters in reported:
        some.report(counters)
    some.close()
    assert shown(tmp_path) == told


def test_a_disk_that_is_full_when_the_run_goes_back_lets_no_lost_step_be_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk, some = Disk(monkeypatch), reports_to(tmp_path)
    for step in (4, 6):
        some.report(at(step))
    disk.full = True
    some.report(at(3, lost=3, began=3))
    disk.full = False
    some.report(at(7, lost=3, began=3))
    some.close()
    assert shown(tmp_path) == [7]


def test_what_a_start_on_a_full_disk_had_to_forget_it_forgets_when_it_went_back_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To a checkpoint beyond the one that it began at."""
    disk, before = Disk(monkeypatch), reports_to(tmp_path)
    for step in (4, 6):
        before.report(at(step))
    before.close()
    disk.full = True
    some = reports_to(tmp_path, first=3)
    disk.full = False
    some.report(at(7, lost=1, began=7))
    some.report(at(9, lost=1, began=7))
    some.close()
    assert shown(tmp_path) == [7, 9]
