"""Who reaches whom."""

from __future__ import annotations

from tests.chart.features import FEATURES
from tests.chart.helm import Object, Rendered, render


def policies(rendered: Rendered) -> dict[str, Object]:
    """Specs by what the policy is about."""
    return {
        obj["metadata"]["name"].split("-")[1]: obj["spec"] for obj in rendered.all("NetworkPolicy")
    }


def matches(selector: Object, pod: Object) -> bool:
    labels = pod["metadata"]["labels"]
    for rule in selector.get("matchExpressions", []):
        assert rule["operator"] == "In"
        if labels.get(rule["key"]) not in rule["values"]:
            return False
    return bool(selector["matchLabels"].items() <= labels.items())


def test_tasks_of_a_release_reach_each_other_on_every_tcp_port() -> None:
    rendered = render(FEATURES["large"])
    spec = policies(rendered)["tasks"]
    (rule,) = spec["ingress"]
    assert rule["ports"] == [{"protocol": "TCP"}]
    peer, tester = rule["from"]
    assert matches(tester["podSelector"], rendered.one("Pod", "test"))
    assert not matches(spec["podSelector"], rendered.one("Pod", "test"))
    assert list(peer) == ["podSelector"]
    for name, pod in rendered.pods.items():
        is_task = "cleanup" not in name
        assert matches(spec["podSelector"], pod) == is_task
        assert matches(peer["podSelector"], pod) == is_task


def test_the_evaluator_reaches_the_clients_status_port() -> None:
    rendered = render(FEATURES["evaluator"])
    (rule,) = policies(rendered)["tasks"]["ingress"]
    (pod,) = (pod for name, pod in rendered.pods.items() if "-eval-" in name)
    assert matches(rule["from"][0]["podSelector"], pod)
    assert rule["ports"] == [{"protocol": "TCP"}]


def test_one_policy_keeps_the_tasks_of_an_old_attempt_too_while_they_end() -> None:
    # Helm deletes what an upgrade leaves out, policies before pods, and these serve on for a while.
    old, new = render({"evaluator": {"enabled": True}}), render({"run": {"attempt": 2}})
    assert old.attempt != new.attempt
    names = [
        {obj["metadata"]["name"] for obj in rendered.all("NetworkPolicy")}
        for rendered in (old, new)
    ]
    assert names == [{"digits-tasks", "digits-cleanup"}] * 2
    assert policies(old) == policies(new)
    for name, pod in (old.pods | new.pods).items():
        assert matches(policies(new)["tasks"]["podSelector"], pod) == ("cleanup" not in name)


def test_tasks_of_another_release_are_strangers() -> None:
    spec = policies(render())["tasks"]
    others = (render(release="other"), render({"nameOverride": "second"}))
    for other in others:
        for pod in other.pods.values():
            assert not matches(spec["podSelector"], pod)
            assert not matches(spec["ingress"][0]["from"][0]["podSelector"], pod)


def test_nobody_reaches_cleanup() -> None:
    rendered = render()
    spec = policies(rendered)["cleanup"]
    assert spec["policyTypes"] == ["Ingress"]
    assert "ingress" not in spec
    selected = [name for name, pod in rendered.pods.items() if matches(spec["podSelector"], pod)]
    assert selected == [rendered.one("Job", "cleanup")["metadata"]["name"]]


def test_the_named_peers_reach_the_status_port_alone() -> None:
    peers = FEATURES["monitored"]["security"]["networkPolicy"]["statusFrom"]
    rule = policies(render(FEATURES["monitored"]))["tasks"]["ingress"][1]
    assert rule == {"from": peers, "ports": [{"protocol": "TCP", "port": 8080}]}


def test_every_pod_is_isolated_while_policies_are_on() -> None:
    rendered = render(FEATURES["large"])
    for name, pod in rendered.pods.items():
        specs = policies(rendered).values()
        assert [spec for spec in specs if matches(spec["podSelector"], pod)], name


def test_egress_is_not_limited() -> None:
    for spec in policies(render()).values():
        assert spec["policyTypes"] == ["Ingress"]
