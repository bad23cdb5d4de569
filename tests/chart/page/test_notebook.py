"""The notebook: a page with a token, and the client of an interactive cluster."""

from __future__ import annotations

import os
import subprocess
from typing import Any

import pytest

from tests.chart.helm import ROOT, Object, Rendered, notes, render
from tests.chart.security.test_network_policy import matches

ON: dict[str, Any] = {"notebook": {"enabled": True}}
DRIVEN: dict[str, Any] = {
    "program": {"module": ""},
    "interactive": {"enabled": True, "idleSeconds": 600},
    **ON,
}


def container(rendered: Rendered) -> Object:
    (found,) = rendered.pods["digits-notebook"]["spec"]["containers"]
    return dict(found)


def env(rendered: Rendered) -> dict[str, Any]:
    return {one["name"]: one for one in container(rendered)["env"]}


def reaches(rendered: Rendered, client: str, server: str) -> set[int | None]:
    """The ports of `server` that policies let `client` open; None is every TCP port."""
    pods = rendered.pods
    return {
        port.get("port")
        for policy in rendered.all("NetworkPolicy")
        if matches(policy["spec"]["podSelector"], pods[server])
        for rule in policy["spec"].get("ingress", [])
        for port in rule["ports"]
        for peer in rule.get("from", [{"podSelector": {}}])
        if matches(peer["podSelector"], pods[client])
    }


def test_it_restarts_no_training() -> None:
    assert render(ON).attempt == render().attempt


def test_its_image_is_the_target_notebook_of_the_same_version() -> None:
    assert container(render(ON))["image"] == "registry.example/tf-cluster-trainer:0.1.0-notebook"
    own = {"notebook": {"enabled": True, "image": {"tag": "lab"}}}
    assert container(render(own))["image"] == "registry.example/tf-cluster-trainer:lab"


def test_the_token_is_a_secrets_or_the_pods_own_and_stands_in_no_object() -> None:
    assert "JUPYTER_TOKEN" not in env(render(ON))
    assert not render(ON).all("Secret")
    assert "cat /log/digits/_notebooks/.token" in notes(ON)
    told = {"notebook": {"enabled": True, "token": {"existingSecret": "mine", "key": "word"}}}
    secret = env(render(told))["JUPYTER_TOKEN"]["valueFrom"]["secretKeyRef"]
    assert secret == {"name": "mine", "key": "word"}
    assert "get secret mine" in notes(told) and ".token" not in notes(told)


def test_only_a_client_is_told_where_the_servers_are() -> None:
    for values, there in ((ON, False), (DRIVEN, True)):
        rendered = render(values)
        mounts = [one["mountPath"] for one in container(rendered)["volumeMounts"]]
        assert {"/data", "/log"} < set(mounts)
        assert ("/etc/tf-cluster" in mounts) is there
        assert ("NOTEBOOK_CULL_SECONDS" in env(rendered)) is there
    volumes = render(DRIVEN).pods["digits-notebook"]["spec"]["volumes"]
    (config,) = [one for one in volumes if one["name"] == "config"]
    assert config["configMap"]["name"] == f"digits-config-{render(DRIVEN).attempt}"


def test_tasks_and_client_reach_each_other_and_no_training_is_reached() -> None:
    driven, beside = render(DRIVEN), render(ON)
    for task in ("ps-0", "worker"):
        name = f"digits-{task}-{driven.attempt}"
        assert reaches(driven, "digits-notebook", name) == {None}
        assert reaches(driven, name, "digits-notebook") == {None}
        name = f"digits-{task}-{beside.attempt}"
        assert reaches(beside, "digits-notebook", name) == set()
        assert reaches(beside, name, "digits-notebook") == set()


@pytest.mark.parametrize("prefix", ["", "/lab"])
def test_its_page_begins_where_it_is_told(prefix: str) -> None:
    rendered = render({"notebook": {"enabled": True, "pathPrefix": prefix}})
    told = container(rendered)
    assert told["readinessProbe"]["httpGet"] == {"path": f"{prefix}/api", "port": "notebook"}
    assert told.get("args") == ([f"--ServerApp.base_url={prefix}"] if prefix else None)


def test_an_empty_token_is_refused() -> None:
    script = ROOT / "trainer/notebook/start.sh"
    done = subprocess.run(
        ("sh", script),
        env={**os.environ, "JUPYTER_TOKEN": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "would let everybody in" in done.stderr
