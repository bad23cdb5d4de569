"""A real training whose log volume fills up and is freed: it goes on, says so, and saves later.

The volume is a small one in memory, mounted where the run's directory is.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from tf_cluster.progress.line import newest

from tests.generator.conftest import RunParams
from tests.generator.local.combinations import COMBINATIONS, params
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import progress
from tests.slices import in_turn

STEPS = 6000
SAID = (
    r"the checkpoint of step \d+ can't be written: .*No space left on device",
    r"TensorBoard's events can't be written, training goes on: .*No space left on device",
    r"can't write .*progress\.json: .*No space left on device.*; training goes on",
)


@pytest.fixture
def volume(tmp_path: Path) -> Iterator[Path]:
    """A volume of 8 MiB where the run `full` keeps all that it has to keep."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a volume that can be filled")
    place = tmp_path / "runs" / "full" / "1"
    place.mkdir(parents=True)
    mount = ("mount", "-t", "tmpfs", "-o", "size=8m", "tf-cluster-test", str(place))
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine lets nobody mount a volume: {done.stderr.strip()}")
    try:
        yield place
    finally:
        # Lazily: of a test that failed a process may still write.
        subprocess.run(("umount", "--lazy", place), check=True)


def fill(file: Path) -> None:
    """Take all the space that there is now."""
    with file.open("ab", buffering=0) as stream, contextlib.suppress(OSError):
        while True:
            stream.write(bytes(4096))


def step_on_screen(run: LocalRunInTest) -> int:
    told = newest(run.stderr.splitlines())
    return (told.step or 0) if told else 0


def last_point(events: Path) -> int:
    """The step of TensorBoard's last point; a file that the full volume cut off ends before."""
    steps: set[int] = set()
    for file in events.iterdir():
        with contextlib.suppress(tf.errors.DataLossError):
            for event in tf.compat.v1.train.summary_iterator(str(file)):
                steps.add(event.step)
    return max(steps)


# Minutes: every fourth commit.
@in_turn(0, of=4)
def test_training_goes_on_while_its_volume_is_full_and_saves_when_there_is_room_again(
    volume: Path, run_params: RunParams
) -> None:
    text = params(COMBINATIONS["in-graph-async"], "full", STEPS)
    run = run_params(text.replace("{seconds: 2}", "{seconds: 1}, reportSeconds: 0.2"))
    run.wait_until("a checkpoint", lambda: (progress(run, "full").get("checkpointStep") or 0) > 0)
    log, filler = run.folder / "runs/full/logs/chief-0.log", volume / "filler"

    def all_is_said() -> bool:
        fill(filler)  # again: what was being written has made room since
        return all(re.search(words, log.read_text()) for words in SAID)

    run.wait_until("all is said", all_is_said)
    saved, reached = progress(run, "full")["checkpointStep"], step_on_screen(run)
    run.wait_until("more steps", lambda: step_on_screen(run) > reached)
    assert progress(run, "full")["checkpointStep"] == saved

    filler.unlink()
    run.wait_until(
        "a later checkpoint",
        lambda: saved < (progress(run, "full").get("checkpointStep") or 0) < STEPS,
    )
    assert run.wait() == 0, run.stderr
    document = progress(run, "full")
    assert (document["status"], document["restarts"]) == ("done", 0)
    assert document["step"] == document["checkpointStep"] == STEPS
    assert (volume / "checkpoints" / f"ckpt-{document['step']}").is_dir()
    assert last_point(volume / "events") == document["step"]
