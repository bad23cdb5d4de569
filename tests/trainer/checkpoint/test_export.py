"""What an export's inputs and outputs are called, to somebody who has TensorFlow alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, Program
from tf_cluster_trainer.checkpoint import export
from tf_cluster_trainer.program.trial import build_model, run_trial

from tests.support.trainings import context
from tests.tied import tied_to_us
from tests.trainer.child.programs.fixed import Fixed

# Loads each where neither our package nor tf_keras is, feeds ones, tells what it takes and gives.
SERVE = """
import json, sys, tensorflow as tf
for path in map(str.strip, sys.stdin):
    serve = tf.saved_model.load(path).signatures["serving_default"]
    inputs = serve.structured_input_signature[1]
    given = {name: tf.ones([2, *spec.shape[1:]], spec.dtype) for name, spec in inputs.items()}
    assert not {"tf_cluster_trainer", "tf_keras"} & set(sys.modules)
    outputs = serve(**given)
    print(json.dumps({
        "inputs": {name: [spec.dtype.name, spec.shape.as_list()] for name, spec in inputs.items()},
        "outputs": {name: [v.dtype.name, v.numpy().tolist()] for name, v in outputs.items()},
    }), flush=True)
"""
NUMBERS, WORDS = ["float32", [None, 4]], ["int64", [None, 3]]


class Mapping(Fixed):
    """Features by name, neither in the alphabet's order nor in that of the model's inputs."""

    def build_model(self, ctx: Context) -> Any:
        model = super().build_model(ctx)
        numbers, words = model.inputs
        return tf_keras.Model(
            {"words": words, "numbers": numbers},
            {"sum": model.output, "bucket": tf.cast(model.output > 0, tf.int64)},
        )

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        pairs = super().dataset(ctx, input_context)
        return pairs.map(
            lambda inputs, labels: ({"words": inputs[1], "numbers": inputs[0]}, labels)
        )

    def loss(self, labels: Any, outputs: Any) -> Any:
        return super().loss(labels, outputs["sum"])


class AwkwardlyNamed(Fixed):
    """Features by names that are no Python names, as columns of a table often have."""

    def build_model(self, ctx: Context) -> Any:
        numbers, words = (model := super().build_model(ctx)).inputs
        return tf_keras.Model({"the numbers": numbers, "1st-words": words}, model.output)

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        pairs = super().dataset(ctx, input_context)
        return pairs.map(
            lambda inputs, labels: ({"the numbers": inputs[0], "1st-words": inputs[1]}, labels)
        )


class Several(Fixed):
    """A tuple of features, a list of outputs; the model's inputs have names."""

    def build_model(self, ctx: Context) -> Any:
        model = super().build_model(ctx)
        return tf_keras.Model(model.inputs, [model.output, model.get_layer("hidden").output])

    def loss(self, labels: Any, outputs: Any) -> Any:
        return super().loss(labels, outputs[0])


class Unnamed(Fixed):
    """A tuple of features, and a model that has no names for them."""

    def build_model(self, ctx: Context) -> Any:
        return OfTwo()


class OfTwo(tf_keras.Model):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.dense = tf_keras.layers.Dense(1)

    def call(self, inputs: Any, training: bool = False) -> Any:
        numbers, words = inputs
        return self.dense(tf.concat([numbers, tf.cast(words, tf.float32)], axis=1))


class LooksUp(Fixed):
    """Lookup tables in the model, of a list and of a file, and one that no layer holds."""

    def build_model(self, ctx: Context) -> Any:
        file = ctx.data_dir / "vocabulary.txt"
        file.write_text("0\n2\n1\n")
        numbers = tf_keras.Input((4,), name="numbers")
        words = tf_keras.Input((3,), dtype=tf.int64, name="words")
        of_list = tf_keras.layers.IntegerLookup(vocabulary=[2, 1, 0])(words)
        table = tf.lookup.StaticVocabularyTable(
            tf.lookup.KeyValueTensorInitializer(*[tf.constant([1, 0], tf.int64)] * 2), 1
        )
        of_nobody = tf_keras.layers.Lambda(lambda words: table.lookup(words))(words)
        of_file = tf_keras.layers.IntegerLookup(vocabulary=str(file))(words)
        rows = tf_keras.layers.Concatenate()([of_list, of_file, of_nobody])
        embedded = tf_keras.layers.Flatten()(tf_keras.layers.Embedding(4, 2)(rows))
        joined = tf_keras.layers.Concatenate()([numbers, embedded])
        return tf_keras.Model([numbers, words], tf_keras.layers.Dense(1)(joined))


@pytest.fixture(scope="module")
def served() -> Iterator[Callable[[Path], Any]]:
    """What somebody finds in an export; one process loads all of them."""
    command = tied_to_us(sys.executable, "-I", "-c", SERVE)
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        asks, says = process.stdin, process.stdout

        def ask(path: Path) -> Any:
            print(path, file=asks, flush=True)
            return json.loads(says.readline())

        yield ask


@pytest.mark.parametrize(
    ("program", "inputs", "outputs"),
    [
        pytest.param(
            Mapping(),
            {"numbers": NUMBERS, "words": WORDS},
            {"sum": "float32", "bucket": "int64"},
            id="mappings",
        ),
        pytest.param(
            AwkwardlyNamed(),
            {"the_numbers": NUMBERS, "arg_1st_words": WORDS},
            {"outputs": "float32"},
            id="awkward",
        ),
        pytest.param(
            Several(),
            {"numbers": NUMBERS, "words": WORDS},
            {"outputs_0": "float32", "outputs_1": "float32"},
            id="several",
        ),
        pytest.param(
            Unnamed(),
            {"features": NUMBERS, "features_1": WORDS},
            {"outputs": "float32"},
            id="unnamed",
        ),
        pytest.param(
            LooksUp(),
            {"numbers": NUMBERS, "words": WORDS},
            {"outputs": "float32"},
            id="tables",
        ),
    ],
)
def test_an_export_is_called_by_the_programs_names_and_gives_what_the_model_gives(
    served: Callable[[Path], Any],
    tmp_path: Path,
    program: Program,
    inputs: dict[str, Any],
    outputs: dict[str, str],
) -> None:
    ctx = context(tmp_path)
    features = run_trial(program, ctx).features
    model = build_model(program, ctx, features)
    about = export.About("digits", "1", 7)
    path = export.export(model, features, about, tmp_path / "export", check_owner=lambda: None)
    found = served(path)
    assert found["inputs"] == inputs
    assert {name: kind for name, (kind, _) in found["outputs"].items()} == outputs
    ones = tf.nest.map_structure(lambda spec: tf.ones([2, *spec.shape[1:]], spec.dtype), features)
    flat = tf.nest.flatten(model(ones, training=False))  # a mapping's values by their sorted keys
    for name, value in zip(sorted(outputs), flat, strict=True):
        assert found["outputs"][name][1] == pytest.approx(value.numpy(), rel=1e-5), name
