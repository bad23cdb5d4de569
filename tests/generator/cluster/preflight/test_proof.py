"""What can't be placed, held to all ways there are to place it."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from tf_cluster.cluster.preflight.placing import Placing, board
from tf_cluster.cluster.preflight.proof import is_impossible
from tf_cluster.cluster.preflight.rooms import Room, bound, rooms
from tf_cluster.cluster.preflight.wanted import Wanted

from tests.generator.cluster.preflight.objects import near, node, pod, wanted

SEEDS = range(400)


def _drawn(seed: int) -> tuple[list[Room], list[Wanted]]:
    draw = random.Random(seed)
    nodes = [
        node(
            f"n{number}",
            {"zone": draw.choice("ab")},
            cpu=str(draw.randint(1, 6)),
            memory=f"{draw.randint(1, 6)}Gi",
        )
        for number in range(draw.randint(1, 4))
    ]
    groups = []
    for number in range(draw.randint(1, 3)):
        spec = {"nodeSelector": {"zone": "a"}} if draw.random() < 0.3 else {}
        if draw.random() < 0.2:
            spec |= near({"role": f"g{number}"})
        asks = {"cpu": f"{draw.randint(1, 8) * 500}m", "memory": f"{draw.randint(1, 6) * 512}Mi"}
        groups.append(wanted(draw.randint(1, 3), f"g{number}", spec, **asks))
    return rooms(nodes, []), groups


def _there_is_a_way(free: Sequence[dict[str, int]], there: list[Room], left: list[Wanted]) -> bool:
    """Tries every node for every pod, with the rules written once more."""
    if not left:
        return True
    first, rest = left[0], left[1:]
    for number, room in enumerate(there):
        zone = first.spec.get("nodeSelector", {}).get("zone")
        if zone and room.labels["zone"] != zone:
            continue
        together = 3 if first.affinity else 1
        same = [one for one in rest if first.affinity and one.title == first.title]
        together = 1 + len(same)
        if any(free[number][name] < value * together for name, value in first.takes.items()):
            continue
        taken = [dict(one) for one in free]
        for name, value in first.takes.items():
            taken[number][name] -= value * together
        if _there_is_a_way(taken, there, [one for one in rest if one not in same]):
            return True
    return False


@pytest.mark.parametrize("seed", SEEDS)
def test_it_is_impossible_where_no_way_places_all(seed: int) -> None:
    there, groups = _drawn(seed)
    each = [one for one in groups for _ in range(one.count)]
    possible = _there_is_a_way([dict(room.free) for room in there], there, each)
    said, fault = is_impossible(board(there, [], groups))
    assert said is not possible
    assert possible or all(groups[index].count for index in fault)


@pytest.mark.parametrize("seed", SEEDS)
def test_what_was_placed_had_room(seed: int) -> None:
    there, groups = _drawn(seed)
    on = board(there, [], groups)
    placing = Placing(on, random.Random(seed), by_score=bool(seed % 2))
    placing.place_all([index for index, one in enumerate(groups) for _ in range(one.count)])
    assert all(value >= 0 for free in placing.free for value in free.values())
    taken = sum(sum(room.free.values()) for room in there) - sum(
        sum(free.values()) for free in placing.free
    )
    placed = [one.count - placing.unplaced[index] for index, one in enumerate(groups)]
    assert taken == sum(
        many * sum(one.takes.values()) for many, one in zip(placed, groups, strict=True)
    )
    if not placing.unplaced.total():
        assert is_impossible(on)[0] is False


def test_a_large_cluster_is_decided_or_said_to_be_undecided_in_time() -> None:
    nodes = rooms([node(f"n{number}", cpu="3", memory="9Gi") for number in range(1000)], [])
    groups = [wanted(900, "a", cpu="2"), wanted(200, "b", cpu="1500m"), wanted(50, "c", cpu="1")]
    assert is_impossible(board(nodes, [], groups))[0] is None
    assert is_impossible(board(nodes, [], [wanted(2001, cpu="2")])) == (True, (0,))


def test_pods_that_are_there_pin_those_that_have_to_be_with_them() -> None:
    there = [pod("old", "small", {"role": "worker"}, cpu="1")]
    nodes = rooms([node("small", cpu="2"), node("large", cpu="64")], there)
    group = wanted(2, "worker", near({"role": "worker"}), cpu="1")
    assert is_impossible(board(nodes, bound(there), [group])) == (True, (0,))
    assert is_impossible(board(nodes, [], [group]))[0] is False
