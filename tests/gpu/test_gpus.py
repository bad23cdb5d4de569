"""Trainings whose workers compute on one GPU that they share: `tf-cluster run` on one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.generator.local.combinations import COMBINATIONS, Combination
from tests.generator.local.local_run import LocalRunInTest, RunParams
from tests.generator.local.real_run import child_of, ended_well, progress
from tests.programs import idx
from tests.support.waiting import HANG_SECONDS

from .conftest import Gpu

# No two tasks of one collective may share a GPU: NCCL refuses. So all-reduce has one worker here.
WORKERS = {name: 1 if name == "all-reduce" else 2 for name in COMBINATIONS}
DECOMPOSES = """
import json, sys, tensorflow as tf
factor = tf.linalg.cholesky(tf.constant([[4.0, 0.0], [0.0, 9.0]]))
wave = tf.signal.fft(tf.ones(4, tf.complex64))
first = float(abs(wave[0].numpy()))
json.dump([factor.device, factor.numpy().tolist(), wave.device, first], sys.stdout)
"""
COMPUTES = """
import json, sys, tensorflow as tf
product = tf.matmul(tf.ones((64, 64)), tf.ones((64, 64)))
image = tf.nn.conv2d(tf.ones((1, 1, 8, 8)), tf.ones((3, 3, 1, 2)), 1, "SAME", data_format="NCHW")
compiled = tf.function(lambda x: tf.reduce_sum(tf.tanh(x) * x), jit_compile=True)(product)
json.dump([product.device, float(product[0, 0]), image.device, float(compiled)], sys.stdout)
"""


def mnist(name: str, combination: Combination, tmp_path: Path, train: str, steps: int = 300) -> str:
    idx.write(tmp_path / "data" / "mnist")
    return (
        f"name: {name}\nprogram: {{module: 'tf_cluster_trainer.examples.mnist:Mnist'}}\n"
        f"workers: {WORKERS[name]}\n{combination.settings}\n"
        f"train: {{steps: {steps}, batchSize: 64, optimizer: {{name: Adam, learningRate: 0.002}}, "
        f"checkpoint: {{seconds: 2}}{train}}}\n"
    )


def ends(run: LocalRunInTest, name: str) -> dict[str, Any]:
    assert run.wait() == 0, run.seen()
    ended_well(run, name)
    return progress(run, name)


def computed(code: str) -> list[Any]:
    """What a Python of its own prints as JSON. It takes no more of the GPU than it needs."""
    command = (sys.executable, "-c", code)
    environment = {**os.environ, "TF_FORCE_GPU_ALLOW_GROWTH": "true"}
    ran = subprocess.run(
        command, stdout=subprocess.PIPE, check=True, timeout=HANG_SECONDS, env=environment
    )
    return list(json.loads(ran.stdout))


def test_tensorflow_computes_and_compiles_for_the_gpu() -> None:
    product, sums, image, compiled = computed(COMPUTES)
    assert product.endswith("GPU:0") and image.endswith("GPU:0")
    assert (sums, compiled) == (64, 64.0**3)


def test_tensorflow_uses_cusolver_and_cufft() -> None:
    """Without cuSOLVER it finds no GPU at all."""
    factor, values, wave, first = computed(DECOMPOSES)
    assert factor.endswith("GPU:0") and wave.endswith("GPU:0")
    assert (values, first) == ([[2.0, 0.0], [0.0, 3.0]], 4.0)


@pytest.mark.parametrize("name", COMBINATIONS)
def test_the_workers_of_every_combination_learn_on_one_gpu(
    name: str, run_params: RunParams, gpu: Gpu, tmp_path: Path
) -> None:
    run = run_params(mnist(name, COMBINATIONS[name], tmp_path, ""), "--data", "data")

    document = ends(run, name)
    assert document["metrics"]["accuracy"] > 0.9
    kinds = {device.split(":")[-2] for device in document["placement"].values()}
    assert kinds == ({"GPU"} if name == "all-reduce" else {"CPU"})
    assert gpu.busiest > 0
    # Each took as much as it needed. All of it is what TensorFlow takes unless told otherwise.
    assert gpu.most_used - gpu.before < gpu.memory / 2


@pytest.mark.parametrize("setting", ["precision: mixed_bfloat16", "xla: true"])
@pytest.mark.parametrize("name", ["in-graph-sync", "between-graph-async", "all-reduce"])
def test_precision_and_compiled_steps_learn_there(
    name: str, setting: str, run_params: RunParams, gpu: Gpu, tmp_path: Path
) -> None:
    text = mnist(name, COMBINATIONS[name], tmp_path, f", {setting}")
    run = run_params(text, "--data", "data")

    assert ends(run, name)["metrics"]["accuracy"] > 0.9
    assert gpu.busiest > 0


@pytest.mark.parametrize("name", COMBINATIONS)
def test_a_training_goes_on_after_the_loss_of_a_worker(
    name: str, run_params: RunParams, tmp_path: Path
) -> None:
    text = mnist(name, COMBINATIONS[name], tmp_path, "", steps=4000)
    run = run_params(text, "--data", "data")
    run.wait_until("steps", lambda: (progress(run, name).get("step") or 0) > 200)
    os.kill(child_of(run, f"worker-{WORKERS[name] - 1}", name), signal.SIGKILL)

    assert ends(run, name)["metrics"]["accuracy"] > 0.9
