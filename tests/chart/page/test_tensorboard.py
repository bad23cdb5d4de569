"""TensorBoard's pod, and that it leaves the training alone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.chart.helm import Object, Rendered, render
from tests.chart.page.test_page import container, page, spec


def arguments(rendered: Rendered) -> dict[str, str]:
    words = (word.removeprefix("--").partition("=") for word in container(rendered)["args"])
    return {name: value for name, _, value in words}


def test_it_shows_this_releases_runs_and_finds_new_ones() -> None:
    assert arguments(page()) == {
        "logdir": "/log/digits",
        "load_fast": "false",
        "bind_all": "",
        "port": "6006",
        "reload_interval": "5",
    }
    named = render({"nameOverride": "x", "tensorboard": {"enabled": True}})
    assert arguments(named)["logdir"] == "/log/digits-x"


def test_it_shows_what_it_is_told() -> None:
    told = arguments(page(logdir="/log/team", reloadSeconds=86400, pathPrefix="/curves"))
    assert told["logdir"] == "/log/team"
    assert told["reload_interval"] == "86400"
    assert told["path_prefix"] == "/curves"


def test_it_only_reads_the_log_claim() -> None:
    rendered = page()
    mounts = container(rendered)["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts if not mount.get("readOnly")] == ["/tmp"]
    assert [mount["mountPath"] for mount in mounts if mount.get("readOnly")] == ["/log"]
    claims = [
        volume["persistentVolumeClaim"]["claimName"]
        for volume in spec(rendered, "Deployment")["template"]["spec"]["volumes"]
        if "persistentVolumeClaim" in volume
    ]
    assert claims == ["digits-log"]


def test_it_stays_when_the_training_has_ended() -> None:
    rendered = page()
    (args,) = (
        job["spec"]["template"]["spec"]["containers"][0]["args"]
        for job in rendered.all("Job", "cleanup")
    )
    assert "tensorboard" not in str(args)


def rule(pod: Object) -> Object | None:
    affinity = pod["spec"].get("affinity", {}).get("podAffinity", {})
    found = affinity.get("requiredDuringSchedulingIgnoredDuringExecution", [])
    return found[0] if found else None


@pytest.mark.parametrize("changes", [{}, {"run": {"attempt": 2}}])
def test_whichever_pod_comes_first_the_others_follow_it(changes: Any) -> None:
    # One rule, the same with TensorBoard and without: to switch it on restarts no training. It
    # names every pod that mounts a claim, so a later training follows TensorBoard's pod, too.
    rendered = render({"tensorboard": {"enabled": True}, **changes})
    rules = {name: rule(pod) for name, pod in rendered.pods.items()}
    mounting = {
        name
        for name, pod in rendered.pods.items()
        if any("persistentVolumeClaim" in volume for volume in pod["spec"]["volumes"])
    }
    assert "digits-tensorboard" in mounting and len(mounting) == 3
    assert {name for name, found in rules.items() if found} == mounting
    shared = rules["digits-tensorboard"]
    assert shared
    for name in mounting:
        assert rules[name] == shared
        labels = rendered.pods[name]["metadata"]["labels"]
        (expression,) = shared["labelSelector"]["matchExpressions"]
        assert labels[expression["key"]] in expression["values"]
        assert shared["labelSelector"]["matchLabels"].items() <= labels.items()
    off = {name: rule(pod) for name, pod in render(changes).pods.items()}
    assert off == {name: found for name, found in rules.items() if name != "digits-tensorboard"}


def test_on_a_shared_volume_it_may_run_anywhere() -> None:
    shared = {"accessModes": ["ReadWriteMany"]}
    rendered = render(
        {"tensorboard": {"enabled": True}, "storage": {"data": shared, "log": shared}}
    )
    assert rule(rendered.pods["digits-tensorboard"]) is None
