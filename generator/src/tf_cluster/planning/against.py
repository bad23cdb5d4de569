"""Two plans compared: what restarts and why, what resumes, what stays, what comes and goes."""

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster.expand.expand import leaves
from tf_cluster.expand.quantity import quantity
from tf_cluster.planning.attempt import Attempt
from tf_cluster.planning.plan import Plan
from tf_cluster.planning.release import Release
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.printable import cut

_OF_A_CLAIM = ("accessModes", "volumeName", "selector", "dataSource")
_MOST_CAUSES = 200
_ABSENT: Any = object()


@dataclass(frozen=True)
class Change:
    """A value that differs, as both files have it."""

    path: Pointer
    old: Any
    new: Any


@dataclass(frozen=True)
class Comparison:
    """What an upgrade from one plan to another does.

    `restarts` is whether there is a new attempt. `causes` are the changes each of which alone makes
    one, or all, where they are too many to try each; `others` are those that no training restarts
    for. `fresh` is why the run begins again at
    step 0; empty where it goes on. `kept` are claims that Helm keeps though they are no longer
    asked for. `refused` is what Kubernetes does not let change.
    """

    restarts: bool
    causes: tuple[Change, ...]
    others: tuple[Change, ...]
    fresh: str
    created: tuple[tuple[str, str], ...]
    removed: tuple[tuple[str, str], ...]
    kept: tuple[str, ...]
    stays: tuple[tuple[str, str], ...]
    pages: tuple[str, ...]
    refused: tuple[str, ...]


def compared(old: Plan, new: Plan) -> Comparison:
    """What changes from the old plan to the new one."""
    restarts = old.names.attempt != new.names.attempt
    changes = _changes(old.release.values, new.release.values)
    causes = _causes(old, new, changes) if restarts else []
    at = {change.path for change in causes}
    olds, news = (_named(one) for one in (old, new))
    lasting = {name for one in old.objects if one.life == "kept" for name in one.names}
    gone = [one for one in olds if one not in news]
    return Comparison(
        restarts=restarts,
        causes=tuple(causes),
        others=tuple(change for change in _telling(changes) if change.path not in at),
        fresh=_fresh(old, new),
        created=tuple(one for one in news if one not in olds),
        removed=tuple(one for one in gone if one[1] not in lasting),
        kept=tuple(name for kind, name in gone if name in lasting),
        stays=tuple(one for one in news if one in olds),
        pages=tuple(_pages(old, new)),
        refused=tuple(_refused(old, new)),
    )


def _named(plan: Plan) -> dict[tuple[str, str], None]:
    """Kind and name of every object, in order, without what only `helm test` makes."""
    return {
        (one.kind, name): None for one in plan.objects if one.life != "test" for name in one.names
    }


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """Each value that differs. A mapping that only one file has counts by its leaves."""
    before, after = (dict(leaves(one, empty=True)) for one in (old, new))
    changes = []
    for path in dict.fromkeys([*before, *after]):
        was, now = (_at(one, path) for one in (old, new))
        if was == now and type(was) is type(now):
            continue
        if any(isinstance(one, Mapping) and one for one in (was, now)):
            continue  # its leaves tell
        changes.append(Change(path, was, now))
    return changes


def _telling(changes: list[Change]) -> list[Change]:
    """Those that are more than one word for nothing in place of another."""
    return [one for one in changes if not (_is_nothing(one.old) and _is_nothing(one.new))]


def _at(values: Mapping[str, Any], path: Pointer) -> Any:
    found = value_at(values, path)
    if found is None and value_at(values, path[:-1]) is not None:
        parent = value_at(values, path[:-1])
        return None if isinstance(parent, Mapping) and path[-1] in parent else _ABSENT
    return _ABSENT if found is None else found


def _is_nothing(value: Any) -> bool:
    return value is _ABSENT or value is None or value == {}


def _causes(old: Plan, new: Plan, changes: list[Change]) -> list[Change]:
    """The changes that make a new attempt: alone from the old values, or back from the new ones.

    All of them, where there are too many to try each.
    """
    telling = _telling(changes) or changes
    if len(changes) > _MOST_CAUSES:
        return telling
    found = []
    for change in changes:
        alone = _with(old.release.values, change.path, change.new)
        back = _with(new.release.values, change.path, change.old)
        if _differs(old, alone) or _differs(new, back):
            found.append(change)
    return found or telling


def _differs(plan: Plan, values: Mapping[str, Any]) -> bool:
    """Whether other values of the same release make another attempt."""
    release = Release(values, plan.release.name, plan.release.namespace)
    try:
        return Attempt(release).names.attempt != plan.names.attempt
    except (LookupError, TypeError, AttributeError, ValueError):
        return False  # half of a change that goes together


def _with(values: Mapping[str, Any], path: Pointer, value: Any) -> Mapping[str, Any]:
    """The values with one of them another, or without it."""
    result: dict[str, Any] = copy.copy(dict(values))
    inner = result
    for key in path[:-1]:
        below = inner.get(str(key))
        inner[str(key)] = dict(below) if isinstance(below, Mapping) else {}
        inner = inner[str(key)]
    if value is _ABSENT:
        inner.pop(str(path[-1]), None)
    else:
        inner[str(path[-1])] = value
    return result


def _fresh(old: Plan, new: Plan) -> str:
    """Why the run starts afresh; empty where it goes on from its newest checkpoint."""
    if old.run_directory != new.run_directory:
        return f"its directory is {new.run_directory}, not {old.run_directory}"
    was, now = (
        (one.release.claim("log"), one.release.values["storage"]["log"].get("subPath") or "")
        for one in (old, new)
    )
    if was != now:
        return f"/log is {_volume(*now)}, not {_volume(*was)}"
    if old.release.namespace != new.release.namespace:
        return "the namespace is another, and so are its claims"
    return ""


def _volume(claim: str, path: str) -> str:
    return f"{path} of the claim {claim}" if path else f"the claim {claim}"


def _pages(old: Plan, new: Plan) -> list[str]:
    """The pages whose pod is made anew."""
    before = {role.name: old.attempt.page_spec(role) for role in old.release.pages}
    after = {role.name: new.attempt.page_spec(role) for role in new.release.pages}
    return [name for name in after if name in before and before[name] != after[name]]


def _refused(old: Plan, new: Plan) -> list[str]:
    """What Kubernetes refuses to change in a claim that stays."""
    found = []
    for volume in ("data", "log"):
        was, now = (one.release.values["storage"][volume] for one in (old, new))
        names = [
            one.release.claim(volume) if volume in one.release.claims else "" for one in (old, new)
        ]
        if was.get("existingClaim") or now.get("existingClaim") or not names[0]:
            continue
        if names[0] != names[1]:
            continue
        for key in _OF_A_CLAIM:
            if (was.get(key) or None) != (now.get(key) or None):
                found.append(f"storage.{volume}.{key} of the claim {names[0]}, which is there")
        if _class(old, volume) != _class(new, volume):
            found.append(f"the StorageClass of the claim {names[0]}, which is there")
        try:
            shrinks = quantity(str(now["size"])) < quantity(str(was["size"]))
        except ValueError:
            shrinks = False
        if shrinks:
            found.append(f"storage.{volume}.size of the claim {names[0]}: it can only grow")
    return found


def _class(plan: Plan, volume: str) -> Any:
    """The claim's class; None is the cluster's default."""
    own = plan.release.values["storage"][volume].get("storageClassName")
    shared = plan.release.section("global").get("storageClass")
    return own if isinstance(own, str) else shared or None


def told(change: Change) -> str:
    """A change in words: `train.steps: 1000 → 2000`."""

    def shown(value: Any) -> str:
        return "not there" if value is _ABSENT else json.dumps(value, ensure_ascii=False)

    return f"{dotted(change.path)}: {cut(shown(change.old))} → {cut(shown(change.new))}"
