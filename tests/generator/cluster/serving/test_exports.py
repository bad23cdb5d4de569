"""Which version may be served, and what is said of those that may not."""

from __future__ import annotations

import random

import pytest
import yaml
from tf_cluster.cluster.serving.exports import (
    CHARTS_BATCH,
    Tensor,
    exports_of,
    refuse_older_server,
    refuse_small_batches,
    tag_of,
    to_serve,
)
from tf_cluster.cluster.serving.releasing import CHART
from tf_cluster.exits import RefusedError

from tests.generator.cluster.serving.documents import checked, export

HALF = "saved_model.pb is not there: it is half copied."


def test_a_document_is_read_whole() -> None:
    (one,) = exports_of(checked(export(3, note="its batch has a fixed length, 1"))).seen
    assert (one.number, one.size, one.step, one.tensorflow) == (3, 2**20, 300, "2.21.0")
    assert one.inputs == {"image": Tensor("float32", (None, 4))}
    assert one.inputs["image"].text == "float32 [?, 4]"
    assert (one.difference, one.problem, one.note) == (0.0, "", "its batch has a fixed length, 1")
    (bare,) = exports_of(checked({"number": 1, "bytes": 5, "problem": HALF})).seen
    assert (bare.problem, bare.inputs, bare.step, bare.difference) == (HALF, {}, None, None)


@pytest.mark.parametrize(
    "document", [{}, {"exports": [{}]}, {"exports": 3}, {"exports": [{"number": "x", "bytes": 1}]}]
)
def test_what_another_trainer_says_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(RefusedError, match="can't read"):
        exports_of(document)


def looked_at(numbers: list[int], bad: set[int], version: int | None) -> list[int]:
    """Those that `check-exports --until-good` looks at."""
    if version is not None and version not in numbers:
        return []
    order = sorted(numbers, key=lambda number: (number != version, -number))
    good = [place for place, number in enumerate(order) if number not in bad]
    return order[: good[0] + 1] if good else order


@pytest.mark.parametrize("seed", range(200))
def test_the_newest_is_served_or_it_is_said_why_not_and_which_is_good(seed: int) -> None:
    draw = random.Random(seed)
    numbers = draw.sample(range(1, 40), draw.randint(0, 8))
    bad = {number for number in numbers if draw.random() < 0.4}
    version = draw.choice([None, draw.randint(1, 40)])
    seen = looked_at(numbers, bad, version) if draw.random() < 0.5 else numbers
    document = checked(*(export(n, problem=HALF if n in bad else None) for n in seen))
    found = exports_of({**document, "unseen": [n for n in numbers if n not in seen]})
    wanted = max(numbers, default=0) if version is None else version
    if wanted in numbers and wanted not in bad:
        assert to_serve(found, version, "digits").number == wanted
        return
    with pytest.raises(RefusedError) as refused:
        to_serve(found, version, "run 1 of digits", "--version")
    words = str(refused.value)
    good = sorted(set(numbers) - bad, reverse=True)
    if not numbers:
        assert words == "run 1 of digits has no export yet: a training writes one at its end"
    elif wanted not in numbers:
        assert f"has no version {wanted}: there are {max(numbers)}" in words
    else:
        told = f"; version {good[0]} is good: --version {good[0]}" if good else ""
        assert words == (
            f"version {wanted} in run 1 of digits can't be served: "
            f"saved_model.pb is not there: it is half copied{told}"
        )


@pytest.mark.parametrize(
    ("image", "tensorflow", "tag"),
    [
        ("tensorflow/serving:2.20.0", "2.21.0", "2.21.0"),
        ("registry:5000/tensorflow/serving:2.9.1-gpu", "2.21.0", "2.21.0-gpu"),
        ("tensorflow/serving:1.15.0", "2.0.0", "2.0.0"),
        ("tensorflow/serving:2.21.0", "2.21.3", ""),
        ("tensorflow/serving:2.21.0-gpu", "2.20.0", ""),
        ("tensorflow/serving:latest", "2.21.0", ""),
        ("registry:5000/serving", "2.21.0", ""),
        ("tensorflow/serving:2.1.0@sha256:abc", "2.21.0", "2.21.0"),
        ("tensorflow/serving@sha256:abc", "2.21.0", ""),
        ("team/serving:0.1.0", "2.21.0", ""),
        ("tensorflow/serving:2.20.0", "", ""),
        ("tensorflow/serving:2.20.0", "2.21.0-dev20260101", "2.21.0-dev20260101"),
    ],
)
def test_an_older_server_is_named_with_the_tag_to_take(
    image: str, tensorflow: str, tag: str
) -> None:
    (one,) = exports_of(checked(export(3, tensorflow=tensorflow))).seen
    if not tag:
        refuse_older_server(image, one)
        return
    with pytest.raises(RefusedError) as refused:
        refuse_older_server(image, one)
    assert str(refused.value).endswith(f"{image} is older: take --set image.tag={tag}")


def test_the_tag_of_an_image() -> None:
    images = ["a/b:1", "localhost:5000/b", "localhost:5000/b:2@sha256:c", "b@sha256:c"]
    assert [tag_of(image) for image in images] == ["1", "", "2", ""]


def test_what_an_evaluator_removed_meanwhile_is_said() -> None:
    with pytest.raises(RefusedError, match="was removed just now: try again"):
        to_serve(exports_of({"exports": [], "unseen": [3]}), None, "best of digits")


@pytest.mark.parametrize(
    ("batching", "rows", "fits"),
    [
        ({}, [64], True),
        ({"enabled": False, "maxBatchSize": 1}, [64], True),
        ({"enabled": True}, [32, None], True),
        ({"enabled": True}, [1, 33], False),
        ({"enabled": True, "maxBatchSize": 64}, [64], True),
        ({"enabled": True, "maxBatchSize": 63}, [64], False),
        ({"enabled": True, "maxBatchSize": 1}, [], True),
    ],
)
def test_batches_hold_what_a_server_warms_up_with(
    batching: dict[str, object], rows: list[int | None], fits: bool
) -> None:
    (one,) = exports_of(checked(export(3, warmUp=rows))).seen
    if fits:
        refuse_small_batches(batching, one)
        return
    with pytest.raises(RefusedError, match=r"set batching\.maxBatchSize to"):
        refuse_small_batches(batching, one)


def test_the_charts_own_batch_is_what_the_tool_takes_it_for() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    assert values["batching"]["maxBatchSize"] == CHARTS_BATCH
