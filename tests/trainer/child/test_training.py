"""A whole run and what is left of it, with real servers."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Placement, Progress, Ready, Result, Saved

from tests.support.children import Child, Children

STEPS = 1200


@pytest.fixture(scope="module")
def finished(world: Children) -> Child:
    """A chief that trained the digits from nothing to the end."""
    chief = world.chief(steps=STEPS, save_seconds=2, per_call=None)
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    return chief


def test_the_digits_are_learnt(finished: Child) -> None:
    (result,) = finished.of(Result)
    assert result.step == STEPS
    assert result.metrics["accuracy"] >= 0.95


def test_every_trainable_variable_is_on_a_ps(finished: Child) -> None:
    (placement,) = finished.of(Placement)
    assert {"conv2d/kernel", "logits/bias"} <= set(placement.devices)
    assert all(device.startswith("/job:ps/") for device in placement.devices.values())
    assert {device[:25] for device in placement.devices.values()} == {
        "/job:ps/replica:0/task:0/",
        "/job:ps/replica:0/task:1/",
    }


def test_each_worker_makes_steps_and_they_add_up(finished: Child) -> None:
    last = finished.of(Progress)[-1]
    assert all(last.workers[index] > 0 for index in ("0", "1"))
    assert sum(last.workers.values()) == last.step == STEPS


def test_the_final_checkpoint_is_of_the_last_step(world: Children, finished: Child) -> None:
    directory = world.run_dir() / "checkpoints" / f"ckpt-{STEPS}"
    meta = json.loads((directory / "meta.json").read_text())
    assert (meta["version"], meta["step"], meta["examples"]) == (1, STEPS, STEPS * 32)
    assert sum(meta["workers"].values()) == STEPS
    saved = dict(tf.train.list_variables(str(directory / "variables")))
    assert saved["model/dense/kernel"] == [256, 64]
    assert saved["optimizer/m/dense/kernel"] == [256, 64]
    assert finished.of(Saved)[-1].step == STEPS
    assert len(world.checkpoints()) <= 3


def test_tensorboard_has_the_same_last_step(world: Children, finished: Child) -> None:
    (events,) = (world.run_dir() / "events").iterdir()
    points = {
        value.tag: event.step
        for event in tf.compat.v1.train.summary_iterator(str(events))
        for value in event.summary.value
    }
    assert {"loss", "training/accuracy", "steps_per_second"} <= set(points)
    assert points["loss"] == STEPS


def test_the_export_predicts_the_same_in_a_process_without_our_package(
    world: Children, finished: Child, tmp_path: Path
) -> None:
    export = Path(finished.of(Result)[0].export or "")
    assert export == world.run_dir() / "export" / "1"
    script = (
        "import sys, numpy, tensorflow as tf\n"
        "loaded = tf.saved_model.load(sys.argv[1])\n"
        "serve = loaded.signatures['serving_default']\n"
        "image = tf.reshape(tf.linspace(0.0, 1.0, 128), [2, 8, 8, 1])\n"
        "(name,) = serve.structured_input_signature[1]\n"
        "numpy.save(sys.argv[2], serve(**{name: image})['outputs'].numpy())\n"
        "print(name, 'tf_cluster_trainer' in sys.modules or 'tf_keras' in sys.modules)\n"
        "print(int(loaded.step))\n"
    )
    out = subprocess.run(
        [sys.executable, "-I", "-c", script, str(export), str(tmp_path / "got.npy")],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert out.split() == ["image", "False", str(STEPS)]
    expected = _predict_from_checkpoint(world.run_dir() / "checkpoints" / f"ckpt-{STEPS}")
    np.testing.assert_allclose(np.load(tmp_path / "got.npy"), expected, rtol=1e-4, atol=1e-4)


def test_a_stopped_run_goes_on_at_its_step_with_partitioned_variables(world: Children) -> None:
    wide = {"units": 1024}  # dense/kernel is 1 MiB: a part on each ps
    first = world.chief(run_id="stopped", steps=100_000, report_seconds=0.1, flags=wide)
    first.wait_for(Ready)
    first.go()
    first.wait_for(Progress, lambda progress: progress.step >= 300)
    first.signal(signal.SIGTERM)
    assert first.exit_code(deadline=20) == exit_codes.STOPPED, first.tail()
    saved = first.of(Saved)[-1].step
    assert world.checkpoints("stopped") == [saved]
    assert first.of(Progress)[-1].step == saved
    assert {"dense/kernel/part_0", "dense/kernel/part_1"} <= set(first.of(Placement)[0].devices)
    bundle = world.run_dir("stopped") / "checkpoints" / f"ckpt-{saved}" / "variables"
    shapes = dict(tf.train.list_variables(str(bundle)))
    assert shapes["model/dense/kernel"] == shapes["optimizer/v/dense/kernel"] == [256, 1024]

    second = world.chief(run_id="stopped", steps=saved + 45, flags=wide)
    second.wait_for(Ready)
    second.go()
    assert second.exit_code() == exit_codes.DONE, second.tail()
    begin, end = second.of(Progress)[0], second.of(Progress)[-1]
    assert (begin.step, end.step) == (saved, saved + 45)
    assert begin.workers == first.of(Progress)[-1].workers
    assert second.of(Result)[0].step == saved + 45
    assert first_loss(second) < first_loss(first) / 2


def test_a_changed_model_is_refused_by_the_name_of_its_first_difference(
    world: Children, finished: Child
) -> None:
    chief = world.chief(steps=STEPS + 10, flags={"units": 32})
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.CONFIG
    (failure,) = chief.of(Failure)
    assert "dense/kernel" in failure.message
    assert "run.id" in failure.message


def test_an_error_in_the_program_shows_its_own_lines_first(world: Children) -> None:
    chief = world.chief(
        run_id="raises",
        module="tests.trainer.child.programs.broken:RaisesWhileTraining",
        path=str(Path(__file__).parents[3]),
    )
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    (failure,) = chief.of(Failure)
    assert "the program failed while training: ValueError: Cannot reshape" in failure.message
    shown = chief.text().partition("Traceback of the program")[2].splitlines()[1]
    assert re.search(r"programs/broken\.py.*, in loss", shown)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param(
            "NamesAMissingFile", "NotFoundError: .*missing.tfrecord; No such file", id="file"
        ),
        pytest.param(
            "LabelOutOfRange", "a label value of 3 which is outside the valid", id="label"
        ),
        pytest.param("HasNoExamples", "OutOfRangeError: End of sequence", id="empty"),
    ],
)
def test_a_workers_error_is_the_programs_and_not_a_lost_peer(
    world: Children, name: str, words: str
) -> None:
    chief = world.chief(
        run_id=name.lower(),
        module=f"tests.trainer.child.programs.broken:{name}",
        path=str(Path(__file__).parents[3]),
    )
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    (failure,) = chief.of(Failure)
    assert re.search(words, failure.message), failure.message


def first_loss(child: Child) -> float:
    return next(one.loss for one in child.of(Progress) if one.loss is not None)


@pytest.fixture(scope="module", autouse=True)
def _logs(world: Children) -> Iterator[None]:
    yield
    for child in world.children:
        child.end()


def _predict_from_checkpoint(directory: Path) -> np.ndarray:
    """The digits' model by hand, from the checkpoint's tensors."""
    read = tf.train.load_checkpoint(str(directory / "variables")).get_tensor
    images = tf.reshape(tf.linspace(0.0, 1.0, 128), [2, 8, 8, 1])
    x = tf.nn.conv2d(images, read("model/conv2d/kernel"), 1, "SAME") + read("model/conv2d/bias")
    x = tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID")
    x = tf.reshape(x, [2, -1])
    x = tf.nn.relu(x @ read("model/dense/kernel") + read("model/dense/bias"))
    logits: np.ndarray = (x @ read("model/logits/kernel") + read("model/logits/bias")).numpy()
    return logits
