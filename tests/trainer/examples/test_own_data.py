"""The recommender on ratings of one's own, and the text on a text of one's own."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer.examples.recommender import Recommender, RecommenderFlags, _ratings
from tf_cluster_trainer.examples.text import LENGTH, Text, TextFlags, _examples

RATINGS = "userId,movieId,rating,timestamp\n"


def context(data: Path, flags: Any) -> Any:
    return SimpleNamespace(data_dir=data, flags=flags)


def test_ratings_are_read_from_the_file_and_a_tenth_is_held_out(tmp_path: Path) -> None:
    lines = [f"{user},{100 + user},{1 + user % 5}.5,964982703\n" for user in range(1, 31)]
    (tmp_path / "ratings.csv").write_text(RATINGS + "".join(lines))
    ctx = context(tmp_path, RecommenderFlags(ratings="ratings.csv", users=100, items=110))

    trained = list(Recommender().dataset(ctx, None).as_numpy_iterator())
    held_out = list(_ratings(ctx, held_out=True).as_numpy_iterator())

    assert [int(features["user"]) for features, _ in held_out] == [1, 11, 21]
    assert sorted(
        (int(features["user"]), int(features["item"]), float(rating))
        for features, rating in trained + held_out
    ) == [(user, (100 + user) % 110, 1.5 + user % 5) for user in range(1, 31)]


def test_ratings_that_are_missing_are_named(tmp_path: Path) -> None:
    ctx = context(tmp_path, RecommenderFlags(ratings="ratings.csv"))

    with pytest.raises(FileNotFoundError, match=f"{tmp_path}/ratings.csv is missing: copy a"):
        Recommender().dataset(ctx, None)


def test_words_of_the_text_become_rows_of_its_vocabulary(tmp_path: Path) -> None:
    # Two words stand often, a third once; there is room for two.
    words = ["The", "cat"] * 300 + ["purred."]
    (tmp_path / "my.txt").write_text(" ".join(words))
    ctx = context(tmp_path, TextFlags(file="my.txt", words=4))

    trained = list(Text().dataset(ctx, None).as_numpy_iterator())
    held_out = list(_examples(ctx, held_out=True).as_numpy_iterator())

    assert (len(trained), len(held_out)) == (27, 4)
    row, following = held_out[0]
    assert row.tolist() == [2, 3] * (LENGTH // 2)
    assert following.tolist() == [3, 2] * (LENGTH // 2)
    # The last one is the rest: a word and a mark that the vocabulary has not, and padding.
    row, following = held_out[-1]
    assert row.tolist() == [1, 1, *[0] * (LENGTH - 2)]
    assert following.tolist() == [1, *[0] * (LENGTH - 1)]


def test_padding_counts_neither_for_the_loss_nor_against_it() -> None:
    logits = np.random.default_rng(3).normal(size=(1, 4, 6)).astype(np.float32)
    labels = np.array([[2, 5, 0, 0]])

    loss = Text().loss(labels, logits)

    log_of_sum = np.log(np.exp(logits[0]).sum(axis=1))
    expected = np.mean([log_of_sum[0] - logits[0, 0, 2], log_of_sum[1] - logits[0, 1, 5]])
    assert np.allclose(loss, [expected], rtol=1e-5)
