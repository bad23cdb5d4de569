"""The Python of docs/trainer.md and docs/moving.md does what the page says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from textwrap import indent
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer.child.exporting import Exporter
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.program import flags as program_flags
from tf_cluster_trainer.program.context import DataShard
from tf_cluster_trainer.program.trial import build_model, run_trial

from tests.generator.conftest import ROOT, RunParams
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import progress
from tests.slices import in_turn, sliced
from tests.support.trainings import context


def samples(page: str, language: str) -> list[str]:
    text = (ROOT / "docs" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


# A sample that is added to a page needs a test here.
FIRST, PART_OF_THE_DATA, FLAGS, SERVING, SIGNATURES = samples("trainer.md", "python")
FIT_SCRIPT, FLOWERS, OLD_WEIGHTS = samples("moving.md", "python")
FIRST_PARAMS = samples("trainer.md", "yaml")[0]
FLOWERS_PARAMS = samples("moving.md", "yaml")[0]


# What stands for the reader's own in a sample, and what it is here.
OWN = {
    "ModelCheckpoint(...)": 'ModelCheckpoint("saved.keras")',
    "TensorBoard(...)": 'TensorBoard("events")',
    "interleave(...)": "interleave(tf.data.TextLineDataset)",
    "model = ...": "model = super().build_model(ctx)",
}


def filled(sample: str) -> str:
    for words, here in OWN.items():
        sample = sample.replace(words, here)
    return sample


def executed(code: str, **names: Any) -> dict[str, Any]:
    """The names that the code leaves; it does not inherit this file's `annotations`."""
    exec(compile(code, "a sample", "exec", dont_inherit=True), names)
    return names


@pytest.fixture
def train(run_params: RunParams, tmp_path: Path) -> Any:
    """Start `tf-cluster run` on these params, with this program beside them."""

    def run(program: str, params: str, *options: str) -> LocalRunInTest:
        file = program.splitlines()[0].removeprefix("# ")
        (tmp_path / file).write_text(program)
        return run_params(params, *options)

    return run


# The three programs of the pages take turns.
@in_turn(0, of=3)
def test_the_first_program_trains_and_its_export_serves(train: Any) -> None:
    run = train(FIRST, FIRST_PARAMS)

    assert run.wait() == 0, run.stderr
    assert progress(run, "sums")["step"] >= 500
    serving = SERVING.replace("…", str(run.folder / "runs/sums/1"))
    last = serving.splitlines()[-1]
    answer = executed(serving.replace(last, f"answer = {last}"), tf=tf)["answer"]
    assert answer.shape == (1, 1)


@in_turn(1, of=3)
def test_the_moved_fit_script_trains_as_well_as_it_did(train: Any) -> None:
    run = train(FLOWERS, FLOWERS_PARAMS)

    assert run.wait() == 0, run.stderr
    assert progress(run, "flowers")["metrics"]["accuracy"] > 0.9


@in_turn(2, of=3)
def test_the_fit_script_that_is_moved_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flowers = executed(FLOWERS)["_flowers"]
    x_train, y_train = flowers(held_out=False)
    test = tf.data.Dataset.from_tensor_slices(flowers(held_out=True)).batch(10)

    executed(
        "import keras\nfrom keras.callbacks import ModelCheckpoint, TensorBoard\n"
        + filled(FIT_SCRIPT),
        **{"tf": tf, "x_train": x_train, "y_train": y_train, "test": test},
    )

    assert (tmp_path / "model" / "saved_model.pb").is_file()


def test_the_flags_are_read_and_their_errors_are_those_of_the_page() -> None:
    names = executed(FIRST + FLAGS)
    program = names["Vision"]

    assert program_flags.of_run(program, {"vocabulary": "words.txt", "limit": 3}) == names[
        "VisionFlags"
    ]("words.txt", limit=3)
    with pytest.raises(ProgramError) as error:
        program_flags.of_run(program, {"vocabulary": "v", "layer": 2, "dropout": "high"})
    assert f"`{error.value}`" in (ROOT / "docs/trainer.md").read_text()


def test_a_further_signature_answers_as_the_model_does(tmp_path: Path) -> None:
    names = executed(f"{FIRST}\n\nclass Lines(Sums):\n{indent(SIGNATURES, '    ')}")
    program = names["Lines"]()
    ctx = replace(context(tmp_path), flags=names["SumsFlags"]())
    features = run_trial(program, ctx).features
    model = build_model(program, ctx, features)
    exporter = Exporter(program, ctx, features)
    path = exporter.export(model, 1, {}, tmp_path / "export", lambda: None)

    served = tf.saved_model.load(str(path)).signatures
    expected = served["serving_default"](numbers=tf.constant([[1.0, 2.5, -3.0, 4.0]]))
    answer = served["lines"](line=tf.constant(["1,2.5,-3,4"]))
    np.testing.assert_array_equal(answer["sum"], expected["outputs"])


def test_each_worker_reads_files_of_its_own(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / name).write_text(name)
    body = indent(filled(PART_OF_THE_DATA), "    ")
    dataset = executed(f"def dataset(files, ctx):\n{body}", tf=tf)["dataset"]
    files = tf.data.Dataset.list_files(str(tmp_path / "*"), shuffle=False)

    read = [
        [line.decode() for line in dataset(files, ctx).as_numpy_iterator()]
        for ctx in (SimpleNamespace(data_shard=DataShard(index, 2)) for index in range(2))
    ]

    assert read == [["a", "c"], ["b"]]


@pytest.mark.parametrize("replication", sliced(["in-graph", "between-graph"], 1))
def test_a_run_begins_from_the_weights_of_a_script(
    train: Any, tmp_path: Path, replication: str
) -> None:
    """Two ps and a kernel of 400 KB, so in-graph it is in two parts."""
    kernel = np.random.default_rng(1).normal(size=(4, 25_000)).astype(np.float32)
    bias = np.arange(1, 25_001, dtype=np.float32)
    (tmp_path / "data/old").mkdir(parents=True)
    tf.raw_ops.SaveV2(
        prefix=str(tmp_path / "data/old/model.ckpt"),
        tensor_names=["dense/kernel", "dense/bias"],
        shape_and_slices=["", ""],
        tensors=[kernel, bias],
    )
    wide = FIRST.replace("ctx.flags.units", "25_000")
    began = f"\n\nclass Moved(Sums):\n{indent(filled(OLD_WEIGHTS), '    ')}"
    slowly = "{steps: 1, optimizer: {name: SGD, learningRate: 1e-30}}"
    params = (
        f"name: moved\nprogram: {{module: 'train:Moved', path: .}}\ntrain: {slowly}\n"
        f"workers: 1\nps: 2\nreplication: {replication}\n"
    )

    run = train(wide + began, params, "--data", str(tmp_path / "data"))

    assert run.wait() == 0, run.stderr
    (checkpoint,) = tmp_path.glob("runs/moved/1/checkpoints/ckpt-*")
    reader = tf.train.load_checkpoint(str(checkpoint / "variables"))
    assert np.array_equal(reader.get_tensor("model/dense/kernel"), kernel)
    assert np.array_equal(reader.get_tensor("model/dense/bias"), bias)
    if replication == "in-graph":
        placed = progress(run, "moved")["placement"]
        assert len([name for name in placed if name.startswith("dense/kernel")]) == 2, placed
