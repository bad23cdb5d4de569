"""Do the pods find room on the nodes: now, or ever as the nodes are."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from tf_cluster.cluster.preflight.answer import Check, When, cant_say, fits, listed, never, not_now
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.placing import Board, Placing, board
from tf_cluster.cluster.preflight.proof import is_impossible
from tf_cluster.cluster.preflight.rooms import bound, has_ended, rooms, stays, waiting
from tf_cluster.cluster.preflight.terms import Json
from tf_cluster.cluster.preflight.wanted import Wanted, not_modelled
from tf_cluster.planning.demand import plain

SUBJECT = "nodes"
_MOST_TRIES = 24
_FEWEST_TRIES = 3
_LOOKS = 400_000
"""About how many times a pod is held to a node, in all tries together."""


def nodes(cluster: Cluster, pods: Sequence[Wanted], priority: int = 0) -> Check:
    """Whether all pods of a training would be placed. `priority` is theirs."""
    for kind in ("nodes", "pods"):
        if kind in cluster.unread:
            return cant_say(SUBJECT, f"not allowed: list {kind} in the cluster")
    if not cluster.nodes:
        return not_now(SUBJECT, "the cluster has no node")
    unknown = not_modelled(pods)
    now = _board(cluster, cluster.pods, [*_sure(cluster), *pods])
    impossible, fault = is_impossible(now)
    if impossible:
        return _refusal(cluster, pods, now, fault, priority)
    tries = _tries(cluster, pods)
    worst = max(tries, key=lambda one: one.missing)
    if worst.missing == 0:
        if unknown:
            return cant_say(SUBJECT, f"there is room, but it does not follow {'; '.join(unknown)}")
        many = sum(one.count for one in pods)
        return fits(SUBJECT, f"room for {many} pods on {len(cluster.nodes)} nodes")
    placed = sum(one.missing == 0 for one in tries)
    if not placed:
        words = f"none of {len(tries)} orders tried places all: {worst.words}"
        return replace(cant_say(SUBJECT, words), when=When.NOT_NOW)
    return cant_say(
        SUBJECT,
        f"it depends on which pod is placed first: {placed} of {len(tries)} orders tried place "
        f"all; else {worst.words}",
    )


@dataclass(frozen=True)
class _Try:
    missing: int
    words: str


def _tries(cluster: Cluster, pods: Sequence[Wanted]) -> list[_Try]:
    """What happens where pods that wait go first, and the training's own in several orders.

    In half of these the workers are last, as they often are.
    """
    before = [one.pod for one in waiting(cluster.pods)]
    on = _board(cluster, cluster.pods, [*before, *pods])
    first = list(range(len(before)))
    own = range(len(before), len(on.groups))
    many = sum(one.count for one in on.groups)
    number = _LOOKS // max(many * len(on.rooms), 1)
    found = []
    for seed in range(max(_FEWEST_TRIES, min(_MOST_TRIES, number))):
        random = Random(seed)
        order = [index for index in own for _ in range(on.groups[index].count)]
        if seed:
            random.shuffle(order)
        if seed % 2:
            order.sort(key=lambda index: not on.groups[index].early)
        ahead = [index for index in first for _ in range(on.groups[index].count)]
        placing = Placing(on, random, by_score=True, plain=seed % 4 == 3)
        placing.place_all([*ahead, *order])
        missing = {index: placing.unplaced[index] for index in own if placing.unplaced[index]}
        words = _words(on, placing, missing) if missing else ""
        found.append(_Try(sum(missing.values()), words))
    return found


def _refusal(
    cluster: Cluster, pods: Sequence[Wanted], now: Board, fault: tuple[int, ...], priority: int
) -> Check:
    """Why it does not fit, and for how long."""
    staying = [pod for pod in cluster.pods if stays(pod)]
    mended = replace(cluster, nodes=tuple(map(_mended, cluster.nodes)))
    empty = _board(mended, staying, pods)
    impossible, own_fault = is_impossible(empty)
    if impossible:
        return never(SUBJECT, _why(empty, own_fault))
    words = _why(now, fault)
    others = _schedulers(pods)
    if others:
        return cant_say(SUBJECT, f"the scheduler {others[0]} decides, and may make room: {words}")
    lower = [pod for pod in cluster.pods if _is_lower(pod, priority)]
    if lower and not all(_never_preempts(one) for one in pods):
        rest = [pod for pod in cluster.pods if not _is_lower(pod, priority)]
        still, _ = is_impossible(_board(cluster, rest, pods))
        if not still:
            return cant_say(SUBJECT, f"only if it preempts pods of lower priority: {words}")
    return not_now(SUBJECT, words)


def _sure(cluster: Cluster) -> list[Wanted]:
    """Pods that wait, that the scheduler has not refused, and that there is room for."""
    found = [one.pod for one in waiting(cluster.pods) if one.sure and not not_modelled([one.pod])]
    on = _board(cluster, cluster.pods, found)
    placing = Placing(on, Random(0), by_score=True)
    placing.place_all([index for index, one in enumerate(found) for _ in range(one.count)])
    return [
        replace(one, count=one.count - placing.unplaced[index])
        for index, one in enumerate(found)
        if one.count > placing.unplaced[index]
    ]


def _board(cluster: Cluster, pods: Sequence[Json], groups: Sequence[Wanted]) -> Board:
    return board(rooms(cluster.nodes, pods), bound(pods), groups)


def _why(on: Board, fault: tuple[int, ...]) -> str:
    """What is lacking where, by the try that places most."""
    best: tuple[int, Placing] | None = None
    own = [index for index, one in enumerate(on.groups) if one.own]
    order = [index for index, one in enumerate(on.groups) for _ in range(one.count)]
    largest = sorted(order, key=lambda index: -on.groups[index].takes.get("cpu", 0))
    for seed, chosen in enumerate((order, largest)):
        placing = Placing(on, Random(seed), by_score=bool(seed))
        placing.place_all(chosen)
        missing = sum(placing.unplaced[index] for index in own)
        if best is None or missing < best[0]:
            best = (missing, placing)
    assert best is not None
    placing = best[1]
    blamed = [index for index in own if index in fault] or own
    missing_pods = {one: placing.unplaced[one] for one in blamed if placing.unplaced[one]}
    missing_pods = missing_pods or {one: placing.unplaced[one] for one in own}
    words = _words(on, placing, {one: many for one, many in missing_pods.items() if many})
    if len(own) < len(on.groups):
        return words or "with the pods that wait for a node it asks for more than is left"
    return words or "all its pods together ask for more than the nodes have left"


def _words(on: Board, placing: Placing, missing: dict[int, int]) -> str:
    """`2 of worker-0…3 find no node: …`, for each group."""
    return "; ".join(
        f"{many} of {on.groups[index].count} ({on.groups[index].title}) find no node: "
        f"{_reasons(on, placing, index)}"
        for index, many in missing.items()
    )


def _reasons(on: Board, placing: Placing, index: int) -> str:
    """Why each node takes no more of a group; nodes of one reason together."""
    closed: Counter[str] = Counter()
    lacking: dict[str, list[int]] = {}
    elsewhere = 0
    for node in range(len(on.rooms)):
        why = on.closed[index][node]
        if why:
            closed[why] += 1
        elif name := placing.lacks(index, node):
            lacking.setdefault(name, []).append(node)
        elif not placing.goes_with_others(index, node):
            elsewhere += 1
    parts = []
    for name, short in lacking.items():
        most = max(short, key=lambda node: placing.free[node].get(name, 0))
        left = _amount(name, max(placing.free[most].get(name, 0), 0))
        asked = _amount(name, on.groups[index].takes[name])
        parts.append(
            f"{_nodes(len(short))} too little {name} (asks for {asked}, most left: {left} on "
            f"{on.rooms[most].name})"
        )
    parts += [f"{_nodes(many)} {why}" for why, many in closed.most_common()]
    if elsewhere:
        parts.append(f"{_nodes(elsewhere)} pod affinity or anti-affinity")
    return listed(parts)


def _nodes(number: int) -> str:
    return f"{number} node{'' if number == 1 else 's'}:"


def _amount(name: str, value: int) -> str:
    return plain(name, Fraction(value, 1000) if name == "cpu" else Fraction(value))


def _mended(node: Json) -> Json:
    """A node as it is when it is ready and not cordoned: both pass."""
    spec = node.get("spec") or {}
    taints = [
        one for one in spec.get("taints") or () if not one["key"].startswith("node.kubernetes.io/")
    ]
    return {**node, "spec": {**spec, "unschedulable": False, "taints": taints}}


def _schedulers(pods: Sequence[Wanted]) -> list[str]:
    named = (str(one.spec.get("schedulerName") or "default-scheduler") for one in pods)
    return [one for one in dict.fromkeys(named) if one != "default-scheduler"]


def _is_lower(pod: Json, priority: int) -> bool:
    return (
        bool(pod["spec"].get("nodeName"))
        and not has_ended(pod)
        and int(pod["spec"].get("priority") or 0) < priority
    )


def _never_preempts(pod: Wanted) -> bool:
    return pod.spec.get("preemptionPolicy") == "Never"
