"""Whether pods find room: the scheduler's filters, one by one, and for how long they do not."""

from __future__ import annotations

from typing import Any

import pytest
from tf_cluster.cluster.preflight.answer import Check, Verdict, When
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.nodes import nodes

from tests.generator.cluster.preflight.objects import Json, near, node, pod, wanted

OK, MAYBE, NO = Verdict.FITS, Verdict.CANT_SAY, Verdict.DOES_NOT_FIT


def _said(there: list[Json], pods: list[Json], *groups: Any, priority: int = 0) -> Check:
    return nodes(Cluster("a", nodes=tuple(there), pods=tuple(pods)), list(groups), priority)


def _affinity(operator: str, *values: str) -> Json:
    term = {"matchExpressions": [{"key": "size", "operator": operator, "values": list(values)}]}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: {"nodeSelectorTerms": [term]}}}}


TAINT = {"key": "only", "value": "gpu", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("node_has", "spec", "verdict"),
    [
        ({}, {}, OK),
        ({"taints": [TAINT]}, {}, NO),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "only", "operator": "Exists"}]}, OK),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "only", "value": "gpu"}]}, OK),
        ({"taints": [TAINT]}, {"tolerations": [{"key": "only", "value": "cpu"}]}, NO),
        ({"taints": [TAINT]}, {"tolerations": [{"operator": "Exists"}]}, OK),
        (
            {"taints": [TAINT]},
            {"tolerations": [{"key": "only", "operator": "Exists", "effect": "NoExecute"}]},
            NO,
        ),
        ({"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}, {}, OK),
        ({"labels": {"size": "8"}}, {"nodeSelector": {"size": "8"}}, OK),
        ({"labels": {"size": "8"}}, {"nodeSelector": {"size": "9"}}, NO),
        ({"labels": {"size": "8"}}, _affinity("Gt", "7"), OK),
        ({"labels": {"size": "8"}}, _affinity("Gt", "8"), NO),
        ({"labels": {"size": "8"}}, _affinity("NotIn", "8"), NO),
        ({}, _affinity("NotIn", "8"), OK),
        ({}, _affinity("Exists"), NO),
    ],
)
def test_a_node_is_open_or_closed(node_has: Json, spec: Json, verdict: Verdict) -> None:
    there = [node("one", node_has.get("labels"), node_has.get("taints"), cpu="4")]
    said = _said(there, [], wanted(1, spec=spec, cpu="1"))
    assert said.verdict is verdict, said
    assert verdict is OK or said.when is When.NEVER


def test_what_others_have_is_not_now_and_what_no_node_has_is_never() -> None:
    there = [node("one", cpu="4"), node("two", cpu="4")]
    busy = [pod("other", "one", cpu="3"), pod("over", "two", cpu="3")]
    assert _said(there, busy, wanted(1, cpu="2")).when is When.NOT_NOW
    assert _said(there, busy, wanted(1, cpu="5")).when is When.NEVER
    assert _said(there, busy, wanted(3, cpu="3")).when is When.NEVER
    ended = [{**one, "status": {"phase": "Succeeded"}} for one in busy]
    assert _said(there, ended, wanted(2, cpu="2")).verdict is OK


def test_pods_of_the_node_itself_are_there_for_ever() -> None:
    agent = pod("agent", "one", cpu="3")
    agent["metadata"]["ownerReferences"] = [{"kind": "DaemonSet", "uid": "d"}]
    assert _said([node("one", cpu="4")], [agent], wanted(1, cpu="2")).when is When.NEVER


def test_the_answer_names_what_is_lacking_where() -> None:
    there = [node("one", cpu="4", **{"x/gpu": "1"}), node("two", taints=[TAINT], cpu="64")]
    said = _said(there, [], wanted(2, "worker-0…1", cpu="1", **{"x/gpu": "1"}))
    assert said.message == (
        "1 of 2 (worker-0…1) find no node: 1 node: too little x/gpu (asks for 1, most left: 0 on "
        "one), 1 node: taint only=gpu:NoSchedule"
    )


def test_a_pod_that_waits_and_was_not_refused_takes_its_room() -> None:
    there = [node("one", cpu="4")]
    fresh = pod("fresh", cpu="3")
    assert _said(there, [fresh], wanted(1, cpu="2")).when is When.NOT_NOW
    gated = {**fresh, "spec": {**fresh["spec"], "schedulingGates": [{"name": "queue"}]}}
    assert _said(there, [gated], wanted(1, cpu="2")).verdict is OK
    too_large = pod("large", cpu="5")
    assert _said(there, [too_large], wanted(1, cpu="2")).verdict is OK
    refused = pod("refused", cpu="3")
    refused["status"]["conditions"] = [{"type": "PodScheduled", "status": "False"}]
    assert _said(there, [refused], wanted(1, cpu="2")).verdict is MAYBE


def test_pods_that_share_a_node_need_one_that_has_room_for_all() -> None:
    group = wanted(3, spec=near({"role": "worker"}), cpu="2")
    assert _said([node("a", cpu="4"), node("b", cpu="4")], [], group).when is When.NEVER
    assert _said([node("a", cpu="6")], [], group).verdict is OK
    # The scheduler puts the first of them where most is free, and the others find no room there.
    busy = [pod("other", "a", cpu="6")]
    said = _said([node("a", cpu="12"), node("b", cpu="4")], busy, group)
    assert (said.verdict, said.when) == (MAYBE, When.NOT_NOW)


def test_a_node_that_is_cordoned_or_not_ready_is_not_now() -> None:
    for key in ("node.kubernetes.io/not-ready", "node.kubernetes.io/unschedulable"):
        there = [node("one", taints=[{"key": key, "effect": "NoSchedule"}], cpu="4")]
        assert _said(there, [], wanted(1, cpu="1")).when is When.NOT_NOW
    cordoned = node("one", cpu="4")
    cordoned["spec"]["unschedulable"] = True
    assert _said([cordoned], [], wanted(1, cpu="1")).when is When.NOT_NOW
    assert _said([cordoned], [], wanted(1, cpu="5")).when is When.NEVER


def test_another_scheduler_may_make_room() -> None:
    there, busy = [node("one", cpu="4")], [pod("other", "one", cpu="3")]
    of_volcano = wanted(1, spec={"schedulerName": "volcano"}, cpu="2")
    assert _said(there, busy, of_volcano).verdict is MAYBE


def test_many_pods_that_wait_are_decided() -> None:
    there = [node(f"n{number}", cpu="4") for number in range(20)]
    waits = [pod(f"w{number}", cpu="100m") for number in range(1100)]
    assert _said(there, waits, wanted(1, cpu="5")).when is When.NEVER
    assert _said(there, waits, wanted(1, cpu="1")).when is When.NOT_NOW


def test_higher_priority_may_preempt() -> None:
    there, busy = [node("one", cpu="4")], [pod("other", "one", cpu="3")]
    assert _said(there, busy, wanted(1, cpu="2"), priority=10).verdict is MAYBE
    shy = wanted(1, spec={"preemptionPolicy": "Never"}, cpu="2")
    assert _said(there, busy, shy, priority=10).when is When.NOT_NOW


@pytest.mark.parametrize(
    "spec",
    [
        {"schedulerName": "volcano"},
        {"resourceClaims": [{"name": "gpu"}]},
        {"topologySpreadConstraints": [{"whenUnsatisfiable": "DoNotSchedule"}]},
    ],
)
def test_a_rule_that_is_not_followed_makes_no_promise(spec: Json) -> None:
    said = _said([node("one", cpu="4")], [], wanted(1, spec=spec, cpu="1"))
    assert said.verdict is MAYBE
    assert _said([node("one", cpu="4")], [], wanted(1, spec=spec, cpu="5")).verdict is NO


def test_what_may_not_be_read_is_said() -> None:
    cluster = Cluster("a", unread=frozenset({"nodes"}))
    assert nodes(cluster, [wanted(1, cpu="1")]).verdict is MAYBE
