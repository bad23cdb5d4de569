"""preflight's rules on limits and quotas, held to the API server that has the last word."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.connection import Connection, connect
from tf_cluster.cluster.preflight.answer import Verdict
from tf_cluster.cluster.preflight.limits import limit_ranges, with_defaults
from tf_cluster.cluster.preflight.look import Cluster
from tf_cluster.cluster.preflight.quotas import quotas
from tf_cluster.cluster.preflight.wanted import of_template
from tf_cluster.expand.quantity import quantity

from tests.cluster.kubernetes import Namespace
from tests.cluster.operations.conftest import Tool
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster

Json = dict[str, Any]
LIMIT_RANGES, QUOTAS = 150, 30
CPU = ("100m", "250m", "500m", "1", "1500m", "2")
MEMORY = ("64Mi", "128Mi", "256Mi", "1Gi")


@pytest.fixture(scope="module")
def connection(namespace: Namespace) -> Iterator[Connection]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("KUBECONFIG", namespace.kubeconfig)
        yield connect(None, namespace.name)


def _drawn_pod(draw: random.Random) -> Json:
    containers = []
    for number in range(draw.randint(1, 2)):
        requests: Json = {}
        limits: Json = {}
        for name, values in (("cpu", CPU), ("memory", MEMORY)):
            low, high = sorted(draw.choices(range(len(values)), k=2))
            if draw.random() < 0.6:
                requests[name] = values[low]
            if draw.random() < 0.6:
                limits[name] = values[high]
        resources = {"requests": requests, "limits": limits}
        containers.append(
            {
                "name": f"c{number}",
                "image": "none",
                "resources": {key: value for key, value in resources.items() if value},
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        )
    spec: Json = {
        "containers": containers,
        "nodeSelector": {"no": "node"},
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
    }
    if draw.random() < 0.3:
        spec["initContainers"] = [{**containers.pop(), "name": "first"}]
        containers.append({**spec["initContainers"][0], "name": "only"})
    return {"metadata": {"labels": {"drawn": "yes"}}, "spec": spec}


def _drawn_limits(draw: random.Random) -> Json:
    rules = []
    for kind in ("Container", "Pod"):
        if draw.random() < 0.3:
            continue
        rule: Json = {"type": kind}
        for name, values in (("cpu", CPU), ("memory", MEMORY)):
            least, requested, limit, most = sorted(draw.choices(range(len(values)), k=4))
            for key, at, of_containers in (
                ("min", least, False),
                ("defaultRequest", requested, True),
                ("default", limit, True),
                ("max", most, False),
            ):
                if draw.random() < 0.4 and (kind == "Container" or not of_containers):
                    rule.setdefault(key, {})[name] = values[at]
            if draw.random() < 0.2:
                rule.setdefault("maxLimitRequestRatio", {})[name] = draw.choice(("1", "2", "4"))
        rules.append(rule)
    return {"limits": rules or [{"type": "Pod", "max": {"cpu": "2"}}]}


def _folder(connection: Connection, plural: str) -> str:
    return f"/api/v1/namespaces/{connection.namespace}/{plural}"


def test_limit_ranges_give_and_refuse_what_the_api_server_does(connection: Connection) -> None:
    folder, refused, given = _folder(connection, "limitranges"), 0, 0
    for seed in range(LIMIT_RANGES):
        draw = random.Random(seed)
        spec, pod = _drawn_limits(draw), _drawn_pod(draw)
        spec["limits"].append({"type": "PersistentVolumeClaim", "max": {"storage": f"{seed}Mi"}})
        made = connection.http.post(folder, json={"metadata": {"name": "drawn"}, "spec": spec})
        if made.status_code == 422:
            continue  # a range that contradicts itself
        there = made.raise_for_status().json()
        template = with_defaults(pod, [there])
        cluster = Cluster(connection.namespace, limitranges=(there,))
        said = limit_ranges(cluster, {"it": template}, ())
        eventually("the range in admission", partial(_is_known, connection, seed), 20)
        document = {**pod, "metadata": {"name": "drawn"}}
        pods = _folder(connection, "pods")
        answer = connection.http.post(pods, json=document, params={"dryRun": "All"})
        connection.http.delete(f"{folder}/drawn").raise_for_status()
        where = f"seed {seed}: {json.dumps(spec)} {json.dumps(pod['spec'])}: {answer.text}"
        if answer.status_code == 422:
            continue  # a default that is less than what the pod asks for
        is_let_in = answer.status_code == 201
        assert is_let_in or answer.status_code == 403, where
        assert (said.verdict is Verdict.FITS) is is_let_in, where
        refused, given = refused + (not is_let_in), given + is_let_in
        for key in ("containers", "initContainers") if is_let_in else ():
            theirs, ours = answer.json()["spec"].get(key), template["spec"].get(key)
            for one, other in zip(theirs or (), ours or (), strict=True):
                assert _exact(one["resources"]) == _exact(other["resources"]), where
    assert refused > LIMIT_RANGES / 8 and given > LIMIT_RANGES / 8


def _is_known(connection: Connection, seed: int) -> bool:
    """Whether admission goes by the range of this seed: its rule on claims has the number."""
    claim = {
        "metadata": {"name": "probe"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    folder = _folder(connection, "persistentvolumeclaims")
    answer = connection.http.post(folder, json=claim, params={"dryRun": "All"})
    return f"PersistentVolumeClaim is {seed}Mi" in answer.text or f"is {seed}," in answer.text


def _exact(resources: Json) -> dict[str, dict[str, Fraction]]:
    return {
        key: {name: quantity(str(value)) for name, value in found.items()}
        for key, found in resources.items()
        if found
    }


def _drawn_quota(draw: random.Random) -> Json:
    hard: Json = {}
    for name, values in (
        ("requests.cpu", ("1", "2", "3500m")),
        ("cpu", ("1", "4")),
        ("limits.memory", ("512Mi", "2Gi")),
        ("requests.memory", ("256Mi", "1Gi")),
        ("pods", ("1", "3", "5")),
        ("count/pods", ("2", "4")),
    ):
        if draw.random() < 0.4:
            hard[name] = draw.choice(values)
    scopes = draw.choice(([], [], ["NotTerminating"], ["Terminating"], ["NotBestEffort"]))
    return {"hard": hard or {"pods": "2"}, **({"scopes": scopes} if scopes else {})}


def test_quotas_have_room_for_as_many_as_the_api_server_lets_in(connection: Connection) -> None:
    outcomes = set()
    for seed in range(QUOTAS):
        draw = random.Random(seed)
        spec, pod, many = _drawn_quota(draw), _drawn_pod(draw), draw.randint(1, 4)
        # Admission looks at a namespace's quotas themselves once, and later at what it has kept.
        with _namespace(connection, f"{connection.namespace}-{seed}") as there:
            quotas_of, pods_of = _folder(there, "resourcequotas"), _folder(there, "pods")
            asked = {"metadata": {"name": "drawn"}, "spec": spec}
            made = there.http.post(quotas_of, json=asked)
            if made.status_code == 422:
                continue  # scopes that do not go with these resources
            made.raise_for_status()
            quota = eventually("the quota", partial(_counted, there, f"{quotas_of}/drawn"), 30)
            # As the API server has it: a limit alone is a request, too.
            wanted = of_template("it", many, there.namespace, with_defaults(pod, ()))
            cluster = Cluster(there.namespace, resourcequotas=(quota,))
            said = quotas(cluster, [wanted], {}, (), ())
            answers = [
                there.http.post(pods_of, json={**pod, "metadata": {"name": f"it-{number}"}})
                for number in range(many)
            ]
        codes = {one.status_code for one in answers}
        where = f"seed {seed}: {spec} {many} × {json.dumps(pod['spec'])}: {answers[-1].text}"
        assert codes <= {201, 403}, where
        assert (said.verdict is Verdict.FITS) is (codes == {201}), f"{where} {said}"
        outcomes.add(said.verdict)
    assert outcomes == {Verdict.FITS, Verdict.DOES_NOT_FIT}


@contextmanager
def _namespace(connection: Connection, name: str) -> Iterator[Connection]:
    """A namespace with an account, in which pods can be made."""
    namespaces = "/api/v1/namespaces"
    connection.http.post(namespaces, json={"metadata": {"name": name}}).raise_for_status()
    account = f"{namespaces}/{name}/serviceaccounts/default"
    try:
        eventually("its account", lambda: connection.http.get(account).is_success, 30)
        yield replace(connection, namespace=name)
    finally:
        connection.http.delete(f"{namespaces}/{name}").raise_for_status()


def _counted(connection: Connection, path: str) -> Json | None:
    """The quota, once its controller has counted what there is."""
    found: Json = connection.http.get(path).json()
    return found if found.get("status", {}).get("hard") else None


def test_what_a_training_lacks_is_said_before_it_is_made(
    namespace: Namespace, tool: Tool, tmp_path: Path
) -> None:
    path = tmp_path / "wanting.yaml"
    values = {
        "fullnameOverride": "wanting",
        "image": {"repository": "localhost/none", "pullSecrets": ["login"]},
        "program": {"module": "a:B"},
        "worker": {"replicas": 1, "priorityClassName": "urgent", "runtimeClassName": "kata"},
        "ps": {"envFrom": [{"secretRef": {"name": "password"}}]},
        # Of a kind that no test cluster has, whatever other cases install.
        "extraObjects": [
            {
                "apiVersion": "of-nobody.tf-cluster.io/v1",
                "kind": "Rocket",
                "metadata": {"name": "r"},
            }
        ],
        "storage": {
            "data": {"existingClaim": "pictures", "accessModes": ["ReadWriteMany"]},
            "log": {"accessModes": ["ReadWriteMany"], "storageClassName": "fast"},
        },
    }
    path.write_text(yaml.safe_dump(values))
    before = namespace.kubectl("get", "all,leases", "--output=name")
    answer = json.loads(tool.ran("preflight", str(path), "--output", "json", code=1).stdout)
    told = {(one["check"], one["message"]) for one in answer["checks"] if one["verdict"] != "fits"}
    words = " | ".join(f"{check}: {message}" for check, message in sorted(told))
    for one in (
        "APIs: the cluster does not know Rocket (of-nobody.tf-cluster.io/v1)",
        "claims: claim pictures is not there",
        "claims: claim wanting-log: there is no StorageClass fast",
        "classes: not there: PriorityClass urgent, RuntimeClass kata",
        "named objects: not there: Secret password",
    ):
        assert one in words, words
    assert namespace.kubectl("get", "all,leases", "--output=name") == before
