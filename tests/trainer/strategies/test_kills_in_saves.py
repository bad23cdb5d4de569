"""Tasks are killed at random moments of saves and resumes: no checkpoint is lost, no row is wrong.

Synchronous, so that all rows of a checkpoint are of one step: each got the same updates.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.checkpoint import read
from tf_cluster_trainer.protocol import Progress, Ready, Saved, Serving

from tests.slices import in_turn, sliced
from tests.support.children import Child, Children
from tests.support.trainings import HERE
from tests.support.waiting import eventually

KILLS = 5
SECONDS = 90.0
PROGRAM = "tests.trainer.child.programs.in_step:InStep"
FIRST_SUM = 0.1  # where Adagrad's sum of squares begins


class Training:
    """One worker and two ps, a save every fifth step by the ps or streamed; who is killed."""

    def __init__(self, folder: Path, replication: str, way: str, seed: int) -> None:
        self.in_graph = replication == "in-graph"
        self.world = Children(folder, workers=1, ps=2, has_chief=self.in_graph)
        self.world.forks = False  # who comes back is late, as its supervisor's child is
        self.chance = random.Random(seed)
        self.told: dict[str, Any] = {
            "module": PROGRAM,
            "path": HERE,
            "optimizer": {"name": "Adagrad", "learningRate": 0.01},
            "replication": replication,
            "update": "sync",
            "steps": 1_000_000,
            "per_call": 1,
            "save_steps": 5,
            "keep": 2,
            "report_seconds": 0.1,
            "log_on_ps": way == "ps",
        }
        self.ps = [self.world.start("ps", index, **self.told) for index in range(2)]
        for one in self.ps:
            one.wait_for(Serving)
        if self.in_graph:
            self.world.start("worker", 0, **self.told).wait_for(Serving)
        self.client = self.start()
        self.saved = 0

    def start(self) -> Child:
        """The client's next child."""
        if not self.in_graph:
            return self.world.train(**self.told)[0]
        client = self.world.chief(**self.told)
        client.wait_for(Ready)
        client.go()
        return client

    def kill(self) -> str:
        """Kill some of them at some moment, and start them again; who they were."""
        resuming = self.chance.random() < 0.3
        if not resuming:
            self.await_save()
        time.sleep(self.chance.uniform(0, 2))  # the moment that is drawn
        victims = self.chance.choice(["client", "ps-0", "ps-1", "client ps-1", "ps-0 ps-1"])
        for name in victims.split():
            victim = self.client if name == "client" else self.ps[int(name[-1])]
            victim.signal(signal.SIGKILL)
            victim.exit_code()
        self.check()
        for index in range(2):
            if f"ps-{index}" in victims:
                self.ps[index] = self.world.start("ps", index, **self.told)
                self.ps[index].wait_for(Serving)
        if "client" in victims:
            self.client = self.start()
        elif self.in_graph:
            self.client.exit_code()  # it says which ps is lost
            self.client = self.start()
        return victims

    def await_save(self) -> None:
        """Until one more checkpoint is saved, and the next one is being written."""
        known = self.saved
        self.client.wait_for(Saved, lambda saved: saved.step > known, deadline=SECONDS)
        self.saved = max(one.step for one in self.client.of(Saved))
        checkpoints = self.world.run_dir() / "checkpoints"
        eventually("a save", lambda: any(checkpoints.glob("*.tmp-*")), SECONDS)

    def check(self) -> None:
        """Every checkpoint is whole and of one step; the newest that was saved is there."""
        for step in self.world.checkpoints():
            path = self.world.run_dir() / "checkpoints" / f"ckpt-{step}"
            try:
                saved = read.read(path)
                bundle = tf.train.load_checkpoint(str(path / "variables"))
                sums = bundle.get_tensor("optimizer/accumulator/sum/table")
                table = bundle.get_tensor("model/sum/table")
            except (OSError, read.DamagedError, tf.errors.OpError, RuntimeError):
                if path.exists():
                    raise
                continue  # the client is alive and has removed it, maybe while it was read
            assert saved.meta.step == step
            np.testing.assert_allclose(sums, np.float32(FIRST_SUM + step), rtol=1e-5)
            assert table.min() == table.max(), f"rows of several steps at step {step}"
        assert self.world.checkpoints()[-1:] >= [self.saved][: self.saved > 0]


@pytest.fixture
def training(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Training]:
    replication, way, seed = request.param
    some = Training(tmp_path, replication, way, seed)
    with some.world:
        yield some


@in_turn(0, of=3)
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "training",
    sliced(
        [
            pytest.param((replication, way, seed), id=f"{replication}-{way}-{seed}")
            for seed in range(5)
            for way in ("ps", "streamed")
            for replication in ("in-graph", "between-graph")
        ],
        1,
    ),
    indirect=True,
)
def test_no_checkpoint_is_lost_and_no_row_is_wrong(training: Training) -> None:
    killed = [training.kill() for _ in range(KILLS)]
    training.await_save()
    training.check()
    print(f"killed {killed}, last saved {training.saved}")
    known = training.client.of(Progress)[-1].step
    training.client.wait_for(Progress, lambda progress: progress.step > known)
