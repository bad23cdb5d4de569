"""Which versions of a model are loaded, and what each label names, at each step of a promotion.

`stable` is the version that clients ask for, `previous` the one that was it before and is loaded
still. A version that is loaded and has no label is one whose promotion has begun and not ended.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.cluster.serving.servers import Model
from tf_cluster.exits import RefusedError

STABLE, PREVIOUS = "stable", "previous"


@dataclass(frozen=True)
class Wanted:
    """What the values of a model say: its policy and its labels."""

    policy: Mapping[str, Any]
    labels: Mapping[str, int] = field(default_factory=dict)

    @property
    def versions(self) -> tuple[int, ...]:
        """The versions that it names."""
        return tuple(self.policy.get("specific") or ())


@dataclass(frozen=True)
class Promotion:
    """The two steps: both versions loaded; then the label moved. `before` is what it was.

    `old` is the version that answered until now; None where there is none, or it is the new one.
    """

    version: int
    old: int | None
    before: Wanted
    both: Wanted
    moved: Wanted


def wanted_of(model: Model) -> Wanted:
    """What a model has now."""
    return Wanted(model.policy, model.labels)


def half_promoted(model: Model) -> tuple[int, ...]:
    """The versions whose promotion has begun and not ended."""
    if STABLE not in model.labels:
        return ()
    return tuple(one for one in model.loaded if one not in model.labels.values())


def is_stable(model: Model, version: int) -> bool:
    """Whether a version is the stable one, and nothing is left to be done."""
    return model.labels.get(STABLE) == version and not half_promoted(model)


def answering(model: Model, newest: int | None) -> int | None:
    """The version that answers now: the stable one, else the highest that is loaded.

    `newest` is the highest that a policy finds that names none.
    """
    if STABLE in model.labels:
        return model.labels[STABLE]
    return model.loaded[-1] if model.loaded else newest


def promotion(model: Model, version: int, newest: int | None = None) -> Promotion:
    """The steps to a version. Raises RefusedError where another promotion has not ended.

    The second step keeps what labels name, and nothing else.
    """
    others = [one for one in half_promoted(model) if one != version]
    if others:
        raise RefusedError(half_words(model, others[0]))
    now = answering(model, newest)
    old = None if now == version else now
    kept = {label: one for label, one in model.labels.items() if label != PREVIOUS}
    if old is not None:
        kept[STABLE] = old
    dropped = {model.labels.get(PREVIOUS)} - set(kept.values())
    both = {*model.loaded, *kept.values(), version} - (dropped - {version})
    labels = {**kept, STABLE: version, **({PREVIOUS: old} if old is not None else {})}
    return Promotion(
        version=version,
        old=old,
        before=wanted_of(model),
        both=Wanted(_specific(both), kept),
        moved=Wanted(_specific(labels.values()), labels),
    )


def rolled_back(model: Model) -> tuple[Wanted, int, tuple[int, ...]]:
    """What a rollback wants, the version that is stable then, and those that it unloads.

    A promotion that has not ended is taken back; else the version before is the stable one again.
    Raises RefusedError where there is nothing to go back to.
    """
    labels = dict(model.labels)
    if half_promoted(model):
        stable = labels[STABLE]
    elif PREVIOUS in labels and labels[PREVIOUS] != labels.get(STABLE):
        stable = labels.pop(PREVIOUS)
        labels[STABLE] = stable
    else:
        raise RefusedError(
            f"{model.name} has no version to go back to: its label {PREVIOUS} names none; "
            f"tf-cluster promote {model.name} VERSION takes any that is there"
        )
    wanted = Wanted(_specific(labels.values()), labels)
    gone = tuple(one for one in model.loaded if one not in wanted.versions)
    return wanted, stable, gone


def next_step(model: Model, version: int) -> Wanted:
    """What a values file says next on the way to a version: both loaded; then the label moved.

    Raises RefusedError.
    """
    if is_stable(model, version):
        return wanted_of(model)
    if not model.loaded:
        raise RefusedError(
            f"{model.name} has the policy {policy_words(model.policy)}: which version is stable? "
            f"Write policy: {{specific: [N]}} and labels: {{{STABLE}: N}} there first"
        )
    steps = promotion(model, version)
    return steps.moved if version in model.loaded else steps.both


def policy_words(policy: Mapping[str, Any]) -> str:
    """`latest 1`, or that there is none."""
    return (
        ", ".join(f"{key} {value}" for key, value in policy.items()) or "latest 1, the chart's own"
    )


def half_words(model: Model, version: int) -> str:
    """That a promotion has begun and not ended, and what to do."""
    stable = (
        f"{STABLE} is {model.labels[STABLE]}" if STABLE in model.labels else "no label names it"
    )
    name = model.name
    return (
        f"a promotion of {name} {version} has begun and not ended: it may be loaded, and {stable}. "
        f"tf-cluster promote {name} {version} goes on, tf-cluster rollback {name} takes it back"
    )


def _specific(versions: Iterable[int]) -> dict[str, Any]:
    return {"specific": sorted(set(versions))}


def asked_version(model: Model, version: int | None, label: str | None) -> int | None:
    """The version that a request is for; None where the policy takes the newest there is.

    Raises RefusedError for a label that there is not, and a version that is not loaded.
    """
    if label is not None:
        if label not in model.labels:
            there = ", ".join(sorted(model.labels)) or "none"
            raise RefusedError(f"{model.name} has no label {label!r}: there are: {there}")
        return model.labels[label]
    if version is None:
        return answering(model, None)
    if model.loaded and version not in model.loaded:
        loaded = ", ".join(map(str, model.loaded))
        raise RefusedError(
            f"version {version} of {model.name} is not loaded: {loaded} are; tf-cluster promote "
            f"{model.name} {version} loads it"
        )
    return version
