"""Which versions are loaded and labelled at each step: of servers drawn by chance."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tf_cluster.cluster.serving.promotion import (
    PREVIOUS,
    STABLE,
    Wanted,
    asked_version,
    half_promoted,
    is_stable,
    next_step,
    promotion,
    rolled_back,
    wanted_of,
)
from tf_cluster.cluster.serving.servers import Model
from tf_cluster.exits import RefusedError


def model(policy: dict[str, Any] | None = None, **labels: int) -> Model:
    return Model("digits", "claim", "models", "digits", policy or {}, labels)


def specific(*versions: int) -> dict[str, Any]:
    return {"specific": list(versions)}


def after(wanted: Wanted) -> Model:
    """The model when a step has been taken."""
    return model(dict(wanted.policy), **wanted.labels)


def drawn(draw: random.Random) -> tuple[Model, int, int]:
    """A model that the chart accepts, a version to promote, and the newest one there is."""
    there = draw.sample(range(1, 12), draw.randint(2, 6))
    version, newest = draw.choice(there), max(there)
    kind = draw.choice(["latest", "gated", "gated", "gated", "begun"])
    if kind == "latest":
        return model(draw.choice([{"latest": 1}, {"all": True}, {}])), version, newest
    named = draw.sample(there, draw.randint(1, min(3, len(there))))
    names = [STABLE, *draw.sample([PREVIOUS, "canary"], 2)]
    labels = dict(zip(names, named, strict=False))
    loaded = set(labels.values()) | ({version} if kind == "begun" else set())
    return model(specific(*sorted(loaded)), **labels), version, newest


@pytest.mark.parametrize("seed", range(400))
def test_no_step_unloads_what_answers_or_labels_what_is_not_loaded(seed: int) -> None:
    one, version, newest = drawn(random.Random(seed))
    steps = promotion(one, version, newest)
    answers = one.labels.get(STABLE) or (one.loaded[-1] if one.loaded else newest)
    assert steps.before == wanted_of(one)
    assert {answers, version} <= set(steps.both.versions)
    assert version in steps.moved.versions
    assert answers in steps.moved.versions, "the old one stays loaded for a rollback"
    for step in (steps.both, steps.moved):
        assert set(step.labels.values()) <= set(step.versions)
        assert list(step.versions) == sorted(set(step.versions))
        for label in set(one.labels) - {STABLE, PREVIOUS}:
            assert step.labels[label] == one.labels[label]
    # A label is moved to a version only when that was loaded in the step before.
    assert set(steps.moved.labels.values()) <= set(steps.both.versions)
    assert steps.both.labels.get(STABLE, answers) == answers
    assert steps.moved.labels[STABLE] == version
    assert is_stable(after(steps.moved), version)
    assert not half_promoted(after(steps.moved))


@pytest.mark.parametrize("seed", range(200))
def test_one_that_was_killed_goes_on_to_the_same_end(seed: int) -> None:
    one, version, newest = drawn(random.Random(seed))
    steps = promotion(one, version, newest)
    again = promotion(after(steps.both), version, newest)
    assert again.both == steps.both
    assert again.moved == steps.moved
    assert next_step(after(steps.both), version) == steps.moved


@pytest.mark.parametrize("seed", range(200))
def test_a_rollback_goes_back_to_what_was_stable(seed: int) -> None:
    one, version, newest = drawn(random.Random(seed))
    steps = promotion(one, version, newest)
    if steps.old is None:
        with pytest.raises(RefusedError, match="has no version to go back to"):
            rolled_back(after(steps.moved))
        return
    wanted, stable, gone = rolled_back(after(steps.moved))
    assert stable == steps.old == wanted.labels[STABLE]
    assert PREVIOUS not in wanted.labels
    others = {label: one.labels[label] for label in one.labels if label == "canary"}
    assert set(wanted.versions) == {stable, *others.values()}
    assert version in gone or version in others.values()


def test_a_killed_promotion_is_named_and_taken_back() -> None:
    half = model(specific(3, 4), stable=3)
    assert half_promoted(half) == (4,)
    with pytest.raises(RefusedError) as refused:
        promotion(half, 5)
    assert str(refused.value) == (
        "a promotion of digits 4 has begun and not ended: it may be loaded, and stable is 3. "
        "tf-cluster promote digits 4 goes on, tf-cluster rollback digits takes it back"
    )
    assert rolled_back(half) == (Wanted(specific(3), {STABLE: 3}), 3, (4,))


def test_the_way_of_three_versions() -> None:
    one = model(specific(1), stable=1)
    steps = promotion(one, 2)
    assert steps.both == Wanted(specific(1, 2), {STABLE: 1})
    assert steps.moved == Wanted(specific(1, 2), {STABLE: 2, PREVIOUS: 1})
    third = promotion(after(steps.moved), 3)
    # The one before goes as the new one comes: two are loaded, as memory is for two.
    assert third.both == Wanted(specific(2, 3), {STABLE: 2})
    assert third.moved == Wanted(specific(2, 3), {STABLE: 3, PREVIOUS: 2})


def test_from_always_the_newest_to_one_that_is_chosen() -> None:
    newest = model({"latest": 1})
    assert promotion(newest, 3, 4).both == Wanted(specific(3, 4), {STABLE: 4})
    assert promotion(newest, 4, 4).both == Wanted(specific(4))
    assert promotion(newest, 4, 4).moved == Wanted(specific(4), {STABLE: 4})
    with pytest.raises(RefusedError, match="which version is stable"):
        next_step(newest, 4)


@pytest.mark.parametrize(
    ("version", "label", "found"),
    [(None, None, 4), (3, None, 3), (None, "previous", 3), (None, "canary", "no label 'canary'")],
)
def test_a_request_is_for_a_version_that_is_there(
    version: int | None, label: str | None, found: int | str
) -> None:
    one = model(specific(3, 4), stable=4, previous=3)
    if isinstance(found, int):
        assert asked_version(one, version, label) == found
        return
    with pytest.raises(RefusedError, match=found):
        asked_version(one, version, label)


def test_a_version_that_is_not_loaded_is_said_to_be_so() -> None:
    with pytest.raises(RefusedError, match="version 9 of digits is not loaded: 3, 4 are"):
        asked_version(model(specific(3, 4)), 9, None)
    assert asked_version(model({"latest": 1}), 9, None) == 9
    assert asked_version(model({"latest": 1}), None, None) is None
