"""A role that serves a page: its Deployment, its Service, the ways to it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, HELMS, Object, Rendered, command, refusal, render
from tests.chart.security.test_network_policy import matches

PAGE = "tensorboard"
GATEWAY = {"httpRoute": {"enabled": True, "parentRefs": [{"name": "public"}]}}


def page(**values: Any) -> Rendered:
    return render({PAGE: {"enabled": True, **values}})


def spec(rendered: Rendered, kind: str) -> Object:
    return dict(rendered.one(kind, PAGE)["spec"])


def container(rendered: Rendered) -> Object:
    (found,) = spec(rendered, "Deployment")["template"]["spec"]["containers"]
    return dict(found)


def test_it_is_off_unless_it_is_asked_for() -> None:
    assert not render().all("Deployment", PAGE) + render().all("Service", PAGE)


def test_the_service_leads_to_the_page_and_to_no_task() -> None:
    rendered = page()
    service = spec(rendered, "Service")
    assert (service["type"], service["ports"]) == (
        "ClusterIP",
        [{"name": "http", "port": 6006, "targetPort": 6006}],
    )
    selected = [
        name
        for name, pod in rendered.pods.items()
        if matches({"matchLabels": service["selector"]}, pod)
    ]
    assert selected == ["digits-tensorboard"]
    labels = spec(rendered, "Deployment")["template"]["metadata"]["labels"]
    for other in rendered.all("Service"):
        assert (other["spec"]["selector"].items() <= labels.items()) == (
            other["metadata"]["name"] == "digits-tensorboard"
        )


def test_a_node_port_is_chosen_or_left_to_kubernetes() -> None:
    (port,) = spec(page(service={"type": "NodePort", "nodePort": 30606}), "Service")["ports"]
    assert port["nodePort"] == 30606
    (port,) = spec(page(service={"type": "NodePort"}), "Service")["ports"]
    assert "nodePort" not in port
    assert "got number, want null" in refusal({PAGE: {"service": {"nodePort": 30606}}})


def test_a_proxy_in_the_pod_is_what_everybody_reaches() -> None:
    rendered = page(service={"targetPort": 4180}, allowFrom=[{"podSelector": {}}])
    (port,) = spec(rendered, "Service")["ports"]
    assert port["targetPort"] == 4180
    (rule,) = spec(rendered, "NetworkPolicy")["ingress"]
    assert rule["ports"] == [{"protocol": "TCP", "port": 4180}]
    assert container(rendered)["ports"] == [{"name": "tensorboard", "containerPort": 6006}]


EVERYBODY = [{"ports": [{"protocol": "TCP", "port": 6006}]}]
NOBODY = None


@pytest.mark.parametrize(
    ("kind", "peers", "rules"),
    [
        ("ClusterIP", None, NOBODY),
        ("ClusterIP", [], NOBODY),
        ("NodePort", None, EVERYBODY),
        ("NodePort", [], NOBODY),
    ],
)
def test_who_may_come_when_nobody_is_named(kind: str, peers: Any, rules: Any) -> None:
    policy = spec(page(service={"type": kind}, allowFrom=peers), "NetworkPolicy")
    assert policy["policyTypes"] == ["Ingress"]
    assert policy.get("ingress") == rules


@pytest.mark.parametrize("kind", ["ClusterIP", "NodePort"])
def test_only_who_is_named_may_come(kind: str) -> None:
    peers = [{"ipBlock": {"cidr": "10.0.0.0/8"}}, {"podSelector": {"matchLabels": {"a": "b"}}}]
    rendered = page(service={"type": kind}, allowFrom=peers)
    (rule,) = spec(rendered, "NetworkPolicy")["ingress"]
    assert rule == {**EVERYBODY[0], "from": peers}
    selector = spec(rendered, "NetworkPolicy")["podSelector"]
    selected = [name for name, pod in rendered.pods.items() if matches(selector, pod)]
    assert selected == ["digits-tensorboard"]


def test_without_policies_there_is_none_of_a_page() -> None:
    off = {"security": {"networkPolicy": {"enabled": False}}, PAGE: {"enabled": True}}
    assert render(off).all("NetworkPolicy") == []


def test_the_prefix_is_the_probes_the_ingresss_and_the_routes() -> None:
    rendered = page(pathPrefix="/curves", ingress={"enabled": True}, **GATEWAY)
    assert container(rendered)["readinessProbe"]["httpGet"]["path"] == "/curves/data/environment"
    (rule,) = spec(rendered, "Ingress")["rules"]
    assert [path["path"] for path in rule["http"]["paths"]] == ["/curves"]
    (rule,) = spec(rendered, "HTTPRoute")["rules"]
    assert rule["matches"] == [{"path": {"type": "PathPrefix", "value": "/curves"}}]
    assert rule["backendRefs"] == [{"name": "digits-tensorboard", "port": 6006}]


def test_an_ingress_says_what_it_is_told() -> None:
    told = FEATURES["everything"][PAGE]["ingress"]
    ingress = render(FEATURES["everything"]).one("Ingress", PAGE)
    assert told["annotations"].items() <= ingress["metadata"]["annotations"].items()
    assert ingress["spec"]["ingressClassName"] == told["className"]
    assert ingress["spec"]["tls"] == told["tls"]
    (rule,) = ingress["spec"]["rules"]
    assert rule["host"] == told["host"]
    (path,) = rule["http"]["paths"]
    service = render(FEATURES["everything"]).one("Service", PAGE)
    assert path["backend"]["service"] == {
        "name": service["metadata"]["name"],
        "port": {"name": service["spec"]["ports"][0]["name"]},
    }


def test_a_route_says_what_it_is_told() -> None:
    told = FEATURES["tensorboard-http-route"][PAGE]["httpRoute"]
    route = render(FEATURES["tensorboard-http-route"]).one("HTTPRoute", PAGE)
    assert route["metadata"]["annotations"] == told["annotations"]
    assert route["spec"]["parentRefs"] == told["parentRefs"]
    assert route["spec"]["hostnames"] == told["hostnames"]
    assert route["spec"]["rules"][0]["filters"] == told["filters"]
    assert "minItems" in refusal({PAGE: {"httpRoute": {"enabled": True}}})


@pytest.mark.parametrize("helm", HELMS)
def test_a_route_needs_a_cluster_that_has_the_gateway_api(helm: str) -> None:
    asked = (
        *("template", "digits", str(CHART)),
        *("--set=image.repository=a/b", "--set=program.module=a:B"),
        *("--set=tensorboard.enabled=true", "--set=tensorboard.httpRoute.enabled=true"),
        "--set=tensorboard.httpRoute.parentRefs[0].name=public",
    )
    refused = command(*asked, helm=helm).stderr
    assert "tensorboard.httpRoute.enabled is true, but this cluster has no" in refused
    assert "gateway.networking.k8s.io/v1/HTTPRoute: install the Gateway API" in refused
    api = "--api-versions=gateway.networking.k8s.io/v1/HTTPRoute"
    assert "kind: HTTPRoute" in command(*asked, api, helm=helm).stdout
