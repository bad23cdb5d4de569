"""Where a pod goes: one score decides in each case. Held to the real one: operations/mixes."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from tf_cluster.cluster.preflight.placing import Placing, board
from tf_cluster.cluster.preflight.rooms import bound, rooms
from tf_cluster.cluster.preflight.wanted import Wanted

from tests.generator.cluster.preflight.objects import node, pod, wanted

Json = dict[str, Any]
WORKERS = {"matchLabels": {"role": "worker"}}


def placed(nodes: list[Json], pods: list[Json], *groups: Wanted) -> list[str]:
    """The nodes that the last group's pods may come to, whatever chance does."""
    on = board(rooms(nodes, pods), bound(pods), groups)
    found = set()
    for seed in range(8):
        placing = Placing(on, Random(seed), by_score=True, plain=bool(seed % 2))
        placing.place_all([at for at, group in enumerate(groups[:-1]) for _ in range(group.count)])
        before = [dict(free) for free in placing.free]
        placing.place_all([len(groups) - 1] * groups[-1].count)
        found |= {
            room.name
            for room, was, left in zip(on.rooms, before, placing.free, strict=True)
            if was != left
        }
    return sorted(found)


def likes(kind: str, *rules: Json) -> Json:
    """A spec with preferred affinity of a kind."""
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": list(rules)}}}


def alike(*names: str) -> list[Json]:
    return [node(name, {"zone": name}, cpu="8", memory="8Gi") for name in names]


def test_nodes_that_are_alike_are_all_possible() -> None:
    assert placed(alike("a", "b"), [], wanted(1, cpu="1", memory="1Gi")) == ["a", "b"]


def test_the_node_of_which_least_is_asked() -> None:
    there = [pod("p", "a", cpu="1", memory="1Gi")]
    assert placed(alike("a", "b"), there, wanted(1, cpu="1", memory="1Gi")) == ["b"]


def test_a_container_that_asks_for_nothing_counts_all_the_same() -> None:
    there = [pod("p", "a"), pod("q", "a")]
    assert placed(alike("a", "b"), there, wanted(1, cpu="1", memory="1Gi")) == ["b"]


def test_the_node_whose_cpu_and_memory_it_balances() -> None:
    nodes = [node("a", cpu="8", memory="8Gi"), node("b", cpu="8", memory="8Gi")]
    there = [pod("p", "a", cpu="2", memory="0"), pod("q", "b", cpu="0", memory="2Gi")]
    assert placed(nodes, there, wanted(1, cpu="2", memory="100Mi")) == ["b"]


def test_a_node_without_a_taint_that_is_no_rule() -> None:
    disliked = node("a", taints=[{"key": "slow", "effect": "PreferNoSchedule"}], cpu="8")
    used = node("b", cpu="8")
    there = [pod("p", "b", cpu="4")]
    assert placed([disliked, used], there, wanted(1, cpu="1")) == ["b"]
    tolerant = {"tolerations": [{"key": "slow", "operator": "Exists"}]}
    assert placed([disliked, used], there, wanted(1, spec=tolerant, cpu="1")) == ["a"]


def test_a_node_that_it_prefers() -> None:
    rule = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
    spec = likes("nodeAffinity", {"weight": 10, "preference": rule})
    there = [pod("p", "a", cpu="4", memory="4Gi")]
    assert placed(alike("a", "b"), there, wanted(1, spec=spec, cpu="1")) == ["a"]


@pytest.mark.parametrize(("kind", "node_of_it"), [("podAffinity", "a"), ("podAntiAffinity", "b")])
def test_a_node_with_pods_that_it_is_drawn_to_or_from(kind: str, node_of_it: str) -> None:
    term = {"topologyKey": "zone", "labelSelector": WORKERS}
    spec = likes(kind, {"weight": 10, "podAffinityTerm": term})
    there = [pod("p", "a", {"role": "worker"}, cpu="1m"), pod("q", "b", cpu="1m")]
    assert placed(alike("a", "b"), there, wanted(1, "ps", spec, cpu="1")) == [node_of_it]


def test_what_others_wish_of_it_counts_as_its_own_wish() -> None:
    term = {"topologyKey": "zone", "labelSelector": WORKERS}
    spec = likes("podAffinity", {"weight": 10, "podAffinityTerm": term})
    spec["nodeSelector"] = {"zone": "a"}
    drawing = wanted(1, "ps", spec, cpu="4")
    assert placed(alike("a", "b"), [], drawing, wanted(1, cpu="1")) == ["a"]


def test_pods_of_a_service_are_spread() -> None:
    pods = replace(wanted(2, cpu="100m"), served={"role": "worker"})
    sizes = [node("a", cpu="1000"), node("b", cpu="1")]
    assert placed(sizes, [], pods) == ["a", "b"]
    assert placed(sizes, [], wanted(2, cpu="100m")) == ["a"]


def test_a_rule_of_spreading_that_is_a_wish() -> None:
    rule = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
    spec = {"topologySpreadConstraints": [{**rule, "labelSelector": WORKERS}]}
    there = [pod("p", "a", {"role": "worker"}, cpu="1m"), pod("q", "b", cpu="500m")]
    assert placed(alike("a", "b"), there, wanted(1, spec=spec, cpu="1")) == ["b"]


def test_a_node_that_has_the_image() -> None:
    nodes = alike("a", "b")
    nodes[0]["status"]["images"] = [{"names": ["trainer:1"], "sizeBytes": 2 << 30}]
    group = wanted(1, cpu="1")
    group.template["spec"]["containers"][0]["image"] = "trainer:1"
    there = [pod("p", "a", cpu="1", memory="1Gi")]
    assert placed(nodes, there, group) == ["a"]


def test_the_first_of_pods_that_has_a_service_of_its_own_is_not_spread() -> None:
    served = {"role": "ps"}
    drawing = wanted(1, "ps", {"nodeSelector": {"zone": "a"}}, cpu="10m")
    nodes = [node("a", {"zone": "a"}, cpu="4"), node("b", {"zone": "b"}, cpu="2")]
    worker = replace(wanted(1, cpu="1"), served=served)
    assert placed(nodes, [], drawing, worker) == ["b"]
    assert placed(nodes, [], drawing, replace(worker, first_apart=True)) == ["a"]
