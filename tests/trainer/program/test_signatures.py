"""A program's own signatures: what is wrong with them is told before anything trains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tf_cluster_trainer import Context, exit_codes
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.program.signatures import more_signatures
from tf_cluster_trainer.program.trial import build_model, run_trial
from tf_cluster_trainer.protocol import Failure

from tests.support.children import Children
from tests.support.trainings import HERE, context
from tests.trainer.child.programs.broken import Small

NUMBERS = tf.TensorSpec([None, 4], tf.float32, name="numbers")


def of(function: Any, name: Any = "more") -> Small:
    """A program with that signature."""

    class With(Small):
        def signatures(self, ctx: Context, model: Any) -> Mapping[str, Any]:
            return {name: function}

    return With()


class Returns(Small):
    def signatures(self, ctx: Context, model: Any) -> Any:
        return [model]


class Raises(Small):
    def signatures(self, ctx: Context, model: Any) -> Any:
        raise KeyError("vocabulary")


@tf.function(input_signature=[NUMBERS])
def doubled(numbers: Any) -> Any:
    return {"doubled": numbers * 2}


@tf.function
def unsigned(numbers: Any) -> Any:
    return numbers


@tf.function(input_signature=[NUMBERS])
def nothing(numbers: Any) -> Any:
    return None


@tf.function(input_signature=[NUMBERS])
def wrong(numbers: Any) -> Any:
    return tf.reshape(numbers[0], [3])


@tf.function(input_signature=[tf.RaggedTensorSpec([None, None], tf.float32)])
def ragged(numbers: Any) -> Any:
    return numbers.to_tensor()


@pytest.mark.parametrize(
    ("program", "says"),
    [
        (Returns(), "signatures must return a mapping of names to functions; it returned ["),
        (Raises(), "the program failed in signatures: KeyError: 'vocabulary'"),
        (of(lambda numbers: numbers), "signatures['more'] is no tf.function with an input_sig"),
        (of(unsigned), "write @tf.function(input_signature=[tf.TensorSpec("),
        (of(nothing), "signatures['more'] must return tensors by name, or one; it returns None"),
        (of(wrong), "the program failed in signatures['more']: ValueError: in user code:"),
        (of(ragged), "signatures['more'] takes RaggedTensorSpec("),
        (of(doubled, "serving_default"), "the name serving_default, which is the model's own"),
        (of(doubled, "two words"), "signatures has the name 'two words': a name begins with"),
    ],
)
def test_a_signature_that_no_server_could_take_is_told_by_its_name(
    tmp_path: Path, program: Small, says: str
) -> None:
    with pytest.raises(ProgramError) as refused:
        run_trial(program, context(tmp_path))
    assert says in str(refused.value)


def test_a_right_one_is_traced_and_kept(tmp_path: Path) -> None:
    program, ctx = of(doubled), context(tmp_path)
    features = run_trial(program, ctx).features
    assert more_signatures(program, ctx, build_model(program, ctx, features)) == {"more": doubled}


def test_a_wrong_one_ends_the_task_with_exit_2_before_it_waits_for_others(
    lonely: Children,
) -> None:
    told = {"module": "tests.trainer.child.programs.broken:SignatureWithoutInputs", "path": HERE}
    chief = lonely.chief(**told)
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    (failure,) = chief.of(Failure)
    assert re.search(r"signatures\['more'\] is no tf.function with an", failure.message)
