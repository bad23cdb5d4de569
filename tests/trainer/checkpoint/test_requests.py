"""The requests that an export carries: a server's warm-up, and one with its answer."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tensorflow_serving.apis import prediction_log_pb2
from tf_cluster_trainer import Context, Program
from tf_cluster_trainer.checkpoint import requests
from tf_cluster_trainer.child.exporting import Exporter
from tf_cluster_trainer.program import example_batch
from tf_cluster_trainer.program.trial import build_model, run_trial
from tf_cluster_trainer.run_directory import export_record

from tests.serving.loader.programs import WIDE, Convolved, Numbers, Spoken
from tests.support.trainings import context

BATCH = context(Path()).settings.batch_size
layers = tf_keras.layers


def exported(tmp_path: Path, program: Program, metrics: Mapping[str, float] | None = None) -> Path:
    """A version of a program that nobody trained."""
    ctx = context(tmp_path)
    features = run_trial(program, ctx).features
    model = build_model(program, ctx, features)
    exporter = Exporter(program, ctx, features)
    return exporter.export(model, 7, metrics or {}, tmp_path / "export", lambda: None)


def warm_up(version: Path) -> list[Any]:
    """The requests of a version's warm-up, as the official message reads them."""
    file = version / "assets.extra/tf_serving_warmup_requests"
    if not file.exists():
        return []
    records = [one.numpy() for one in tf.data.TFRecordDataset(str(file))]
    return [prediction_log_pb2.PredictionLog.FromString(one) for one in records]


def record(version: Path) -> Any:
    """tf-cluster.json, which its schema allows."""
    told = json.loads((version / "assets.extra/tf-cluster.json").read_text())
    schema = resources.files("tf_cluster_trainer") / "schemas/export.schema.json"
    jsonschema.Draft7Validator(json.loads(schema.read_text())).validate(told)
    return told


def test_the_warm_up_has_one_row_and_a_batch_of_the_data_as_the_server_reads_it(
    tmp_path: Path,
) -> None:
    program = Spoken()
    logs = warm_up(exported(tmp_path, program))

    expected = next(iter(program.dataset(context(tmp_path), None).batch(BATCH)))[0]
    assert len(logs) == 2
    for log, rows in zip(logs, (1, BATCH), strict=True):
        request = log.predict_log.request
        assert request.model_spec.signature_name == "serving_default"
        assert sorted(request.inputs) == ["place", "words"]
        for name, tensor in request.inputs.items():
            np.testing.assert_array_equal(tf.make_ndarray(tensor), expected[name][:rows])


def test_the_record_says_what_it_is_of_and_what_the_model_answers(tmp_path: Path) -> None:
    version = exported(tmp_path, Spoken(), {"accuracy": 0.75, "loss": float("nan")})

    told = record(version)
    assert (told["run"], told["step"]) == ({"name": "digits", "id": "1"}, 7)
    assert told["metrics"] == {"accuracy": 0.75, "loss": None}
    assert told["tensorflow"] == tf.__version__
    assert told["request"]["inputs"]["words"]["shape"] == [1, 3]
    read = export_record.read(version)
    assert read and read.request and read.answer
    serve = tf.saved_model.load(str(version)).signatures["serving_default"]
    given = serve(**{name: tf.constant(value) for name, value in read.request.items()})
    assert sorted(given) == sorted(read.answer) == ["first", "scores"]
    for name, value in given.items():
        np.testing.assert_array_equal(value.numpy(), read.answer[name])


class OfEight(Numbers):
    """Its graph has the batch in it."""

    def seen(self, numbers: Any) -> Any:
        return layers.Lambda(lambda tensor: tf.concat([tensor, tf.zeros([BATCH, 1])], 1))(numbers)


class WithoutRows(Numbers):
    """One of its outputs is of the whole batch."""

    def build_model(self, ctx: Context) -> Any:
        model = super().build_model(ctx)
        mean = layers.Lambda(lambda scores: tf.reduce_mean(scores, 0))(model.output)
        return tf_keras.Model(model.inputs, {"scores": model.output, "mean": mean})

    def loss(self, labels: Any, outputs: Any) -> Any:
        return super().loss(labels, outputs["scores"])


class Failing(Numbers):
    """It takes none of the data that it is trained with."""

    def seen(self, numbers: Any) -> Any:
        def checked(tensor: Any) -> Any:
            with tf.control_dependencies([tf.debugging.assert_less(tensor, -99.0)]):
                return tf.identity(tensor)

        return layers.Lambda(checked)(numbers)


class Random(Numbers):
    """It answers otherwise each time."""

    def seen(self, numbers: Any) -> Any:
        return layers.Lambda(lambda tensor: tensor + tf.random.normal([WIDE]))(numbers)


class Large(Numbers):
    """What it takes is more than a record should hold."""

    def build_model(self, ctx: Context) -> Any:
        numbers = layers.Input((20_000,), name="numbers")
        return tf_keras.Model(numbers, layers.Dense(2)(numbers))

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return (
            super()
            .dataset(ctx, input_context)
            .map(lambda numbers, label: (tf.zeros([20_000]) + numbers[0], label))
        )


class Refusing(Numbers):
    """Data that can't be read here."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        def refuse(numbers: Any, label: Any) -> Any:
            with tf.control_dependencies(
                [tf.debugging.assert_equal(label, tf.constant(99, label.dtype))]
            ):
                return tf.identity(numbers), label

        return super().dataset(ctx, input_context).map(refuse)


class Empty(Numbers):
    def dataset(self, ctx: Context, input_context: Any) -> Any:
        return super().dataset(ctx, input_context).take(0)


class Waiting(Numbers):
    """Data that does not come."""

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        def wait(numbers: Any, label: Any) -> Any:
            def later(numbers: Any) -> Any:
                time.sleep(3)
                return numbers

            return tf.ensure_shape(tf.numpy_function(later, [numbers], tf.float32), [WIDE]), label

        return super().dataset(ctx, input_context).map(wait)


class Private(Numbers):
    requests_in_export = False


@pytest.mark.parametrize(
    ("program", "rows", "recorded", "says"),
    [
        pytest.param(
            OfEight(),
            [BATCH],
            BATCH,
            f"the model takes {BATCH} rows and not one: .* -1 or tf",
            id="batch",
        ),
        pytest.param(
            WithoutRows(), [1, BATCH], 1, r"the output mean has the shape \[2\] for", id="no-rows"
        ),
        pytest.param(
            Failing(), [], 0, "fails for the program's own data .InvalidArgumentError", id="fails"
        ),
        pytest.param(Random(), [1, BATCH], 0, "another outputs for it each time", id="random"),
        pytest.param(Large(), [1, BATCH], 0, "the request has more than 64 KiB", id="large"),
        pytest.param(
            Refusing(), [], 0, r"read here \(InvalidArgumentError: .*no req", id="refuses"
        ),
        pytest.param(Empty(), [], 0, r"\(it has no example\): .* no request", id="empty"),
        pytest.param(Waiting(), [], 0, r"\(it gave none in 1 s\): .* no request", id="waits"),
        pytest.param(Private(), [], 0, "", id="private"),
    ],
)
def test_what_a_model_or_its_data_lets_an_export_carry_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    program: Program,
    rows: list[int],
    recorded: int,
    says: str,
) -> None:
    if isinstance(program, Waiting):
        monkeypatch.setattr(example_batch, "SECONDS", 0.6)
    version = exported(tmp_path, program)

    requests = [log.predict_log.request for log in warm_up(version)]
    assert [tf.make_ndarray(one.inputs["numbers"]).shape[0] for one in requests] == rows
    told = record(version)
    if recorded:
        assert told["request"]["inputs"]["numbers"]["shape"][0] == recorded
    else:
        assert told["request"] is None and told["answer"] is None
    said = " ".join(capfd.readouterr().err.split())
    if says:
        assert re.search(says, said), said
    else:
        assert "serving" not in said and "request" not in said


def test_a_disk_that_does_not_take_the_requests_leaves_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise tf.errors.ResourceExhaustedError(None, None, "No space left on device")

    monkeypatch.setattr(tf.io, "TFRecordWriter", full)
    with pytest.raises(OSError, match="tf_serving_warmup_requests: No space left on device"):
        exported(tmp_path, Convolved())
    assert list((tmp_path / "export").iterdir()) == []


def test_a_batch_that_a_server_should_not_hold_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(example_batch, "LARGEST", 4 * WIDE * (BATCH - 1))
    version = exported(tmp_path, Convolved())
    assert len(warm_up(version)) == 1
    assert f"has one row alone: {BATCH} rows have" in capfd.readouterr().err
    assert record(version)["request"]["inputs"]["numbers"]["shape"] == [1, WIDE]


def test_an_export_whose_try_was_killed_comes_the_next_time_without_requests(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "export" / ".tmp-of-the-killed"
    left.mkdir(parents=True)
    (left / "trying").touch()
    version = exported(tmp_path, Convolved())
    assert "the last export was cut off as it tried its requests" in capfd.readouterr().err
    assert (warm_up(version), record(version)["request"]) == ([], None)
    again = exported(tmp_path, Convolved())
    assert len(warm_up(again)) == 2
    assert not list((tmp_path / "export").rglob("trying"))


def test_a_batch_whose_answer_would_be_large_is_not_tried() -> None:
    sizes = []

    def predict(x: Any) -> Any:
        sizes.append(int(x.shape[0]))
        return {"y": tf.zeros([x.shape[0], 1 << 20], tf.float32)}

    found = requests.tried(predict, {"x": np.zeros([9, 1], np.float32)})
    assert set(sizes) == {1}
    assert [len(one["x"]) for one in found.good] == [1]
    assert any("its answer would have 36 MiB" in sentence for sentence in found.others)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda told: told.pop("step"), "/: 'step' is a required property"),
        (lambda told: told.update(version=2), "/version: 1 was expected"),
        (
            lambda told: told["request"]["inputs"]["numbers"].update(shape=[2, WIDE]),
            "/request/inputs/numbers: 6 values are no tensor of shape",
        ),
        (
            lambda told: told["answer"]["outputs"]["outputs"].update(dtype="int8"),
            "/answer/outputs/outputs: ",
        ),
    ],
)
def test_a_record_that_is_none_of_ours_is_refused_with_its_place(
    tmp_path: Path, change: Callable[[Any], Any], says: str
) -> None:
    (tmp_path / "assets.extra").mkdir()
    tensor = {"dtype": "float32", "shape": [1, WIDE], "values": [[0.5, 1e30, 0, -1, "NaN", 2]]}
    told = {
        "version": 1,
        "run": {"name": "a", "id": "1"},
        "step": 1,
        "metrics": None,
        "tensorflow": "2.21.0",
        "trainer": "0.1.0",
        "signature": "serving_default",
        "request": {"inputs": {"numbers": dict(tensor)}},
        "answer": {"outputs": {"outputs": dict(tensor)}},
    }
    file = tmp_path / "assets.extra/tf-cluster.json"
    file.write_text(json.dumps(told))
    read = export_record.read(tmp_path)
    assert read and read.request and np.isnan(read.request["numbers"][0, 4])

    change(told)
    file.write_text(json.dumps(told))
    with pytest.raises(export_record.UnreadableRecordError) as refused:
        export_record.read(tmp_path)
    assert says in str(refused.value)
