"""Where the ps do not reach the log volume, or it is full, nothing that was saved is lost.

A ps that is elsewhere has a mount of its own over the run's volume.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.checkpoint import read
from tf_cluster_trainer.protocol import Failure, Progress, Ready, Saved

from tests.ports import listens
from tests.slices import in_turn
from tests.support.children import Child, Children
from tests.support.trainings import HERE
from tests.support.waiting import eventually

PROGRAM = "tests.trainer.child.programs.in_pieces:InPieces"
ELSEWHERE = """
mount -t tmpfs tf-cluster-test "$0" && exec "$@"
"""
ADAGRAD = {"name": "Adagrad", "learningRate": 0.1}


def need_mounts() -> None:
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a volume of its own for a ps")
    tried = subprocess.run(
        ("unshare", "--mount", "mount", "-t", "tmpfs", "tf-cluster-test", "/mnt"),
        capture_output=True,
        text=True,
        check=False,
    )
    if tried.returncode:
        pytest.skip(f"this machine lets nobody mount a volume: {tried.stderr.strip()}")


@pytest.fixture(params=["in-graph", "between-graph"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Children]:
    """One worker and two ps, of which none runs yet."""
    need_mounts()
    with Children(tmp_path, workers=1, ps=2, has_chief=request.param == "in-graph") as some:
        yield some


def train(world: Children, away: Collection[int] = (), **settings: Any) -> Child:
    """The client, which trains. The ps `away` have another volume where the run's is."""
    told = {
        "module": PROGRAM,
        "path": HERE,
        "optimizer": ADAGRAD,
        "replication": "in-graph" if world.has_chief else "between-graph",
        "steps": 200,
        **settings,
    }
    for kind, number in (("worker", world.workers if world.has_chief else 0), ("ps", world.ps)):
        for index in range(number):
            world.within = elsewhere(world) if kind == "ps" and index in away else ()
            world.start(kind, index, **told)
    world.within = ()
    if not world.has_chief:
        return world.train(**told)[0]
    client = world.chief(**told)
    client.wait_for(Ready)
    # There is no gate here, and one whose volume is another's begins later.
    for address in world.addresses["ps"]:
        eventually(f"{address} to listen", partial(listens, address), 60)
    client.go()
    return client


def elsewhere(world: Children) -> tuple[str, ...]:
    """What the command line of a task begins with that has another volume there."""
    world.run_dir().mkdir(parents=True, exist_ok=True)
    return ("unshare", "--mount", "sh", "-c", ELSEWHERE, str(world.directory / "log"))


def test_one_ps_that_does_not_reach_the_volume_leaves_the_writing_to_the_chief(
    world: Children,
) -> None:
    client = train(world, away=[1])
    assert client.exit_code() == exit_codes.DONE, client.tail()
    said = "the large tensors of checkpoints go through this task: ps-1 does not reach the log"
    assert said in client.text()
    assert "No such file or directory" in client.text()
    (last,) = world.checkpoints()
    assert read.read(world.run_dir() / "checkpoints" / f"ckpt-{last}").meta.slices
    assert not list(world.run_dir().glob("reach*"))


def test_a_ps_that_must_reach_the_volume_and_does_not_is_named(world: Children) -> None:
    client = train(world, away=[1], log_on_ps=True)
    assert client.exit_code() == exit_codes.CONFIG, client.tail()
    message = client.of(Failure)[0].message
    assert "ps.logVolume is true, but ps-1 does not reach the log volume" in message
    assert not world.checkpoints()


@in_turn(0, of=2)
def test_a_volume_that_fills_up_costs_no_checkpoint_that_was_there(world: Children) -> None:
    """Of a state of 3 MiB one checkpoint fits, and the next one does not."""
    run = world.run_dir()
    run.mkdir(parents=True)
    mount = ("mount", "-t", "tmpfs", "-o", "size=5m", "tf-cluster-test", str(run))
    subprocess.run(mount, check=True)
    try:
        client = train(world, steps=1_000_000, save_steps=50)
        client.wait_until_it_says("No space left on device")
        (line,) = [line for line in client.text().splitlines() if "No space" in line][:1]
        assert "can't be written: ps-" in line
        saved = client.of(Saved)[-1].step
        known = client.of(Progress)[-1].step
        client.wait_for(Progress, lambda progress: progress.step > known + 100)
        assert world.checkpoints()[-1] == saved
        for step in world.checkpoints():
            assert read.read(run / "checkpoints" / f"ckpt-{step}").meta.step == step
        client.end()
    finally:
        for child in world.children:
            child.end()
        subprocess.run(("umount", "--lazy", str(run)), check=True)
