"""Tenants of charts/tf-tenant: what their users can do, to whom they can't, and what holds it."""

from __future__ import annotations

import json
import os
import subprocess
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.chart.helm import LEAST, merged
from tests.chart.tf_tenant.helm import render as render_tenant
from tests.cluster.conftest import CHART, IMAGE, MakeValues, sleeping_pod
from tests.cluster.kubernetes import WAIT_SECONDS, CommandError, Namespace, Release
from tests.cluster.machine_tools import tool_path
from tests.cluster.model_server import of_image
from tests.cluster.operations.conftest import Tool, claim
from tests.cluster.tenants import (
    TENANT_CHART,
    Proxy,
    Right,
    kubeconfig_of,
    proxy,
    rights_of,
    signed_requests,
)
from tests.programs import ENDLESS
from tests.slices import in_turn
from tests.support.waiting import eventually
from tests.tied import tied_to_us

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # fixtures train and install

RIGHTS = in_turn(2, of=3)
"""What is as long as all the rest: a release's whole life, and each right by itself."""
TRAINING = "tiny"
MODELS, SERVER = "models", "tiny-server"
OPTIONAL = dict.fromkeys(("podGroups", "monitoring", "ingresses", "httpRoutes", "serving"), True)
PULL_SECRET = "registry"


@pytest.fixture(scope="module")
def tenants(
    namespace: Namespace, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Two tenants by letter, whose releases are in the administrators' namespace."""
    names = {letter: f"{namespace.name}-{letter}" for letter in "ab"}
    of_the_api = ("--namespace=default", "--selector=kubernetes.io/service-name=kubernetes")
    slices = json.loads(namespace.kubectl("get", "endpointslices", *of_the_api, "--output=json"))
    ports = [port["port"] for one in slices["items"] for port in one["ports"]]
    folder = tmp_path_factory.mktemp("tenants")
    for letter, name in names.items():
        values = {
            "members": {"users": [_user(name)]},
            "viewers": {"users": [_viewer(name)]},
            "rights": OPTIONAL,
            "quota": {"cpu": 2, "pods": 12},
            "network": {"apiServer": {"ports": [443, *ports]}},
            "defaultAccount": {"pullSecrets": [PULL_SECRET]},
        }
        file = folder / f"{letter}.json"
        file.write_text(json.dumps(values))
        namespace.helm("install", name, str(TENANT_CHART), f"--values={file}")
    yield names
    for name in names.values():
        namespace.helm("uninstall", name)
    namespace.kubectl("delete", "namespace", *names.values(), "--timeout=6m", seconds=WAIT_SECONDS)


def _user(tenant: str) -> str:
    return f"user-of-{tenant}"


def _viewer(tenant: str) -> str:
    return f"viewer-of-{tenant}"


@pytest.fixture(scope="module")
def people(
    namespace: Namespace, tenants: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Namespace]:
    """Tenant A's namespace as its user and its viewer see it: a certificate, and nothing else."""
    folder = tmp_path_factory.mktemp("people")
    tenant = tenants["a"]
    with signed_requests(namespace.kubeconfig, folder):
        configs = {
            who: kubeconfig_of(namespace, who, tenant, folder)
            for who in (_user(tenant), _viewer(tenant))
        }
    return {
        who: replace(namespace, name=tenant, kubeconfig=config) for who, config in configs.items()
    }


@pytest.fixture(scope="module")
def ada(people: dict[str, Namespace], tenants: dict[str, str]) -> Namespace:
    """As tenant A's user."""
    return people[_user(tenants["a"])]


@pytest.fixture(scope="module")
def joan(people: dict[str, Namespace], tenants: dict[str, str]) -> Namespace:
    """As tenant A's viewer."""
    return people[_viewer(tenants["a"])]


@pytest.fixture(scope="module")
def asking(ada: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """A proxy of tenant A's user, which keeps what is asked through it."""
    with proxy(ada, tmp_path_factory.mktemp("asking") / "user") as opened:
        yield opened


@pytest.fixture(scope="module")
def recorded(ada: Namespace, asking: Proxy) -> Namespace:
    """The same namespace and user through that proxy."""
    return replace(ada, kubeconfig=asking.kubeconfig)


@pytest.fixture(scope="module")
def trained(recorded: Namespace, make_values: MakeValues, joan: Namespace) -> dict[str, str]:
    """A whole training as tenant A's user: what the verbs said, by verb."""
    tool, release = Tool(recorded, recorded.kubeconfig), Release(recorded, TRAINING, CHART)
    values = make_values(TRAINING, workers=1, train={"steps": 200})
    said: dict[str, str] = {}
    soon = "--set=cleanup.delaySeconds.success=1"
    recorded.helm("install", TRAINING, str(CHART), f"--values={values}", soon, "--wait")
    recorded.helm("test", TRAINING, "--timeout=2m")
    said["submit"] = tool.ran("submit", str(values)).stderr
    said["wait"] = tool("wait", TRAINING, "--timeout", "240")
    for verb, *words in (
        ("list",),
        ("get", TRAINING),
        ("logs", TRAINING),
        ("events", TRAINING),
        ("doctor", TRAINING),
        ("top",),
        ("quota",),
    ):
        said[verb] = tool(verb, *words)
    eventually("no parameter server", lambda: not release.running("ps"), 60)
    release.upgrade(values, "run.attempt=2", f"train.steps={ENDLESS}")
    eventually("steps again", lambda: (release.progress()["step"] or 0) > 200, 120)
    client = release.client()["metadata"]["name"]
    said["exec"] = recorded.kubectl("exec", client, "--", "id", "-u")
    said["port-forward"] = _forwarded(recorded, client)
    said["viewer"] = Tool(joan, joan.kubeconfig)("get", TRAINING)
    said["stop"] = tool("stop", TRAINING)
    said["prune runs"] = tool("prune", "runs", TRAINING, "--keep", "1", "--dry-run")
    recorded.apply(claim(MODELS))
    for _ in range(2):
        said["publish"] = tool("publish", TRAINING, "--to", f"{MODELS}/{TRAINING}")
    said["delete"] = tool.ran("delete", TRAINING, "--claims", "--yes").stderr
    return said


def _forwarded(namespace: Namespace, pod: str) -> str:
    """What a pod's status port says through `kubectl port-forward`."""
    command = (
        namespace.kubectl_path,
        f"--namespace={namespace.name}",
        "port-forward",
        pod,
        ":8080",
    )
    process = subprocess.Popen(
        tied_to_us(*command),
        env={**os.environ, "KUBECONFIG": namespace.kubeconfig},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        address = process.stdout.readline().split()[2]
        with urllib.request.urlopen(f"http://{address}/progress", timeout=30) as answer:
            return str(answer.read().decode())
    finally:
        process.kill()  # it would end half a minute after it is asked to
        process.wait(30)


def test_a_user_trains_inside_the_quota_and_leaves_nothing(
    trained: dict[str, str], ada: Namespace
) -> None:
    assert trained["wait"].startswith("done, 100.0%, step 200 of 200")
    assert trained["list"].splitlines()[1].split()[:3] == [TRAINING, "done", "100.0%"]
    assert f"exported to /log/{TRAINING}/1/export/1" in trained["get"]
    assert "done at step 200 of 200" in trained["logs"]
    assert f"job/{TRAINING}-chief-" in trained["events"]
    assert TRAINING in trained["top"]
    assert "count/jobs.batch" in trained["quota"]
    assert trained["exec"].strip() == "1000"
    assert json.loads(trained["port-forward"])["status"] == "running"
    assert f"{TRAINING}-chief-" in trained["viewer"]
    assert "has ended: stopped" in trained["stop"]
    assert f"{MODELS}/{TRAINING}" in trained["publish"]
    assert f"deleted {TRAINING}-data, {TRAINING}-log" in trained["delete"]
    assert ada.objects("job,deployment,pod,service,configmap,pvc", **{OF: TRAINING}) == []


OF = "app.kubernetes.io/instance"


@pytest.fixture(scope="module")
def served(trained: object, recorded: Namespace) -> dict[str, dict[str, Any]]:
    """What was published, served as tenant A's user: what the verbs said, by verb."""
    tool = Tool(recorded, recorded.kubeconfig)
    # No training is left whose image the Jobs could take.
    of_server = ("--release", SERVER, "--image", IMAGE)
    where = ("--claim", f"{MODELS}/{TRAINING}", "--version", "1")
    tool("serve", TRAINING, *where, *of_server, "--install", *of_image())
    said = {
        "predict": tool.document("predict", TRAINING, *of_server),
        "promote": tool.document("promote", TRAINING, "2", *of_server),
        "rollback": tool.document("rollback", TRAINING, *of_server),
    }
    recorded.helm("uninstall", SERVER, "--wait", "--timeout=2m")
    recorded.kubectl("delete", "pvc", MODELS)
    return said


@RIGHTS
def test_a_user_serves_inside_the_quota_and_leaves_nothing(
    served: dict[str, dict[str, Any]], ada: Namespace
) -> None:
    assert served["predict"]["ok"]
    assert (served["promote"]["stable"], served["rollback"]["stable"]) == (2, 1)
    assert ada.objects("job,deployment,pod,service,configmap,pvc", **{OF: SERVER}) == []


NOWHERE = {"nodeSelector": {"tf-cluster.io/test": "nowhere"}}
EVERY_PART = {
    "pod": NOWHERE,
    "worker": {"replicas": 1},
    "evaluator": {"enabled": True},
    "notebook": {"enabled": True},
    "tensorboard": {"enabled": True, "ingress": {"enabled": True, "host": "tb.example"}},
}


@pytest.fixture(scope="module")
def installed(recorded: Namespace, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A release with every optional part, through its life by both Helms. No pod starts."""
    file = tmp_path_factory.mktemp("parts") / "values.json"
    file.write_text(json.dumps(merged(LEAST, EVERY_PART)))
    for helm in ("helm", "helm3"):
        release = Release(replace(recorded, helm_path=tool_path(helm)), helm, CHART)
        release.install(file)
        release.upgrade(file, "run.attempt=2", "security.networkPolicy.statusFrom[0].podSelector=")
        release.namespace.helm("uninstall", helm, "--wait", "--timeout=2m")


@pytest.fixture(scope="module")
def by_hand(recorded: Namespace) -> None:
    """What the pages of docs/ have a user type."""
    recorded.kubectl("create", "secret", "generic", "code-login", "--from-literal=token=x")
    recorded.kubectl("delete", "secret", "code-login")
    recorded.kubectl("create", "--filename=-", stdin=json.dumps(sleeping_pod("files", {})))
    recorded.kubectl("wait", "--for=condition=Ready", "pod/files", "--timeout=2m")
    recorded.kubectl("delete", "pod", "files")


@pytest.fixture(scope="module")
def asked(
    served: object, installed: object, by_hand: object, asking: Proxy, ada: Namespace
) -> set[Right]:
    """Every right that tenant A's user has made use of."""
    found = asking.asked(ada.name)
    assert {(one.right, one.url) for one in found if one.status == 403} == set()
    return {right for one in found for right in one.rights}


def _role(tenant: str) -> set[Right]:
    rendered = render_tenant({"rights": OPTIONAL}, release=tenant)
    return rights_of(next(one for one in rendered.objects if one["metadata"]["name"] == "tf-user"))


CUSTOM = (
    ("scheduling.x-k8s.io", "podgroups"),
    ("scheduling.volcano.sh", "podgroups"),
    ("monitoring.coreos.com", "podmonitors"),
    ("monitoring.coreos.com", "prometheusrules"),
    ("gateway.networking.k8s.io", "httproutes"),
    ("autoscaling", "horizontalpodautoscalers"),
    ("policy", "poddisruptionbudgets"),
)
"""Kinds that this cluster, or this release of models, need not have. Helm treats all alike."""
SCALE = ("apps", "deployments/scale", "patch")
"""Who makes cleanup's Role has to have what it gives, and never asks for it."""


@RIGHTS
def test_a_user_has_the_rights_that_were_asked_for_and_no_more(
    asked: set[Right], tenants: dict[str, str]
) -> None:
    of_any_kind = {verb for group, kind, verb in asked if kind == "ingresses"}
    custom = {(group, kind, verb) for group, kind in CUSTOM for verb in of_any_kind}
    have = _role(tenants["a"])
    wanted = (asked - {right for right in asked if right[:2] in CUSTOM}) | custom | {SCALE}
    assert sorted(have - wanted) == [], "a right that nobody needs"
    assert sorted(wanted - have) == [], "a right that is missing"


VERSIONS = {
    "apps": "v1",
    "autoscaling": "v2",
    "batch": "v1",
    "coordination.k8s.io": "v1",
    "gateway.networking.k8s.io": "v1",
    "metrics.k8s.io": "v1beta1",
    "monitoring.coreos.com": "v1",
    "networking.k8s.io": "v1",
    "policy": "v1",
    "rbac.authorization.k8s.io": "v1",
    "scheduling.volcano.sh": "v1beta1",
    "scheduling.x-k8s.io": "v1alpha1",
}
METHODS = {"create": "POST", "update": "PUT", "patch": "PATCH", "delete": "DELETE"}


def _use(asking: Proxy, right: Right, tenant: str) -> tuple[int, str]:
    """Make use of a right, of an object that is not there, so that nothing comes of it."""
    group, resource, verb = right
    if right == SCALE:
        return _give(asking, right, tenant)
    kind, _, part = resource.partition("/")
    path = f"/apis/{group}/{VERSIONS[group]}" if group else "/api/v1"
    path += f"/namespaces/{tenant}/{kind}"
    if verb in ("get", "update", "patch", "delete") or part:
        path += f"/nowhere/{part}".rstrip("/")
    if verb == "watch":
        return asking.request("GET", f"{path}?watch=1&timeoutSeconds=1")
    if verb in ("get", "list"):
        return asking.request("GET", f"{path}?limit=1")
    return asking.request(METHODS[verb], f"{path}?dryRun=All&command=true", json={})


def _give(asking: Proxy, right: Right, tenant: str) -> tuple[int, str]:
    """Make a Role that gives a right, as a release makes cleanup's."""
    group, resource, verb = right
    rbac = "rbac.authorization.k8s.io"
    role = {
        "apiVersion": f"{rbac}/v1",
        "kind": "Role",
        "metadata": {"name": "cleanup"},
        "rules": [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}],
    }
    return asking.request(
        "POST", f"/apis/{rbac}/v1/namespaces/{tenant}/roles?dryRun=All", json=role
    )


def _is_refused(answer: tuple[int, str], right: Right) -> bool:
    """Whether it was the lack of the right that was answered."""
    status, text = answer
    said = json.loads(text)["message"] if status == 403 else ""
    words = "not currently held" if right == SCALE else f"cannot {right[2]} resource"
    return words in said


@RIGHTS
def test_without_any_one_of_its_rights_the_api_server_refuses_what_needs_it(
    ada: Namespace, asking: Proxy, namespace: Namespace, tmp_path: Path
) -> None:
    rights = sorted(_role(ada.name))
    path = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{ada.name}/roles/tf-user"
    with proxy(namespace, tmp_path / "admin") as admin:
        status, before = admin.request("GET", path)
        assert status == 200
        rules = {"rules": json.loads(before)["rules"]}
        assert rights_of(rules) == set(rights)
        allowed = [right for right in rights if _is_refused(_use(asking, right, ada.name), right)]
        assert allowed == [], "with all rights nothing is refused"
        try:
            for left_out in rights:
                rest = [
                    {"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                    for group, resource, verb in rights
                    if (group, resource, verb) != left_out
                ]
                assert admin.request("PATCH", path, json={"rules": rest})[0] == 200

                def refused(right: Right = left_out) -> bool:
                    return _is_refused(_use(asking, right, ada.name), right)

                eventually(f"{left_out} to be refused", refused, 5, every=0.01)
        finally:
            admin.request("PATCH", path, json=rules)


def test_a_user_can_do_nothing_of_it_in_another_tenants_namespace(
    ada: Namespace, asking: Proxy, tenants: dict[str, str], make_values: MakeValues
) -> None:
    other = tenants["b"]
    for right in sorted(_role(ada.name)):
        status, text = _use(asking, right, other)
        assert status == 403, (right, text)
        assert "is forbidden: User" in text, (right, text)
    tool = Tool(replace(ada, name=other), ada.kubeconfig)
    values = make_values("foreign")
    gated = (TRAINING, "--release", SERVER)
    assert "can't say  not allowed: list jobs, list deployments" in tool("preflight", str(values))
    for verb, *words in (
        ("submit", str(values)),
        ("list",),
        ("get", TRAINING),
        ("logs", TRAINING),
        ("events", TRAINING),
        ("doctor", TRAINING),
        ("wait", TRAINING, "--timeout", "5"),
        ("top",),
        ("quota",),
        ("stop", TRAINING),
        ("delete", TRAINING),
        ("prune", "--older", "1h"),
        ("prune", "runs", TRAINING, "--keep", "1", "--yes"),
        ("serve", TRAINING, "--install"),
        ("predict", *gated),
        ("publish", TRAINING, "--to", f"{MODELS}/{TRAINING}"),
        ("promote", TRAINING, "2", "--release", SERVER),
        ("rollback", *gated),
        ("list", "--all-namespaces"),
    ):
        assert "not allowed" in tool.ran(verb, *words, code=2).stderr, verb
    release = Release(replace(ada, name=other), TRAINING, CHART)
    with pytest.raises(CommandError, match="is forbidden: User"):
        release.install(values)


def test_a_user_cant_widen_what_the_tenant_may_use(ada: Namespace) -> None:
    for kind, name in (
        ("resourcequota", "tf-tenant"),
        ("limitrange", "tf-tenant"),
        ("namespace", ada.name),
    ):
        with pytest.raises(CommandError, match="is forbidden: User"):
            ada.kubectl("label", kind, name, "mine=yes")
    wider = {"rules": [{"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["patch"]}]}
    with pytest.raises(CommandError, match="attempting to grant RBAC permissions not currently"):
        ada.kubectl("patch", "role", "tf-user", "--type=merge", f"--patch={json.dumps(wider)}")


def _pod(**container: Any) -> dict[str, Any]:
    return sleeping_pod("asks", container)


SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "open"},
    "spec": {"type": "NodePort", "ports": [{"port": 80}]},
}
ROOT_POD = _pod(securityContext={"privileged": True})
URGENT = sleeping_pod("urgent", {}, priorityClassName="system-cluster-critical")
LARGE = {"requests": {"cpu": "3"}}
DEVICE = {"limits": {"nvidia.com/gpu": 1}}


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (SERVICE, "exceeded quota: tf-tenant, requested: services.nodeports=1"),
        (ROOT_POD, 'violates PodSecurity "restricted'),
        (URGENT, "exceeded quota: tf-tenant-priority, requested: pods=1"),
        (_pod(resources=LARGE), "exceeded quota: tf-tenant, requested: requests.cpu=3"),
        (_pod(resources=DEVICE), "exceeded quota: tf-tenant, requested: requests.nvidia.com/gpu=1"),
    ],
    ids=["a port of the node", "privileged", "more important than all", "cpu", "gpu"],
)
def test_what_is_refused(manifest: dict[str, Any], words: str, ada: Namespace) -> None:
    with pytest.raises(CommandError, match=words):
        ada.kubectl("create", "--dry-run=server", "--filename=-", stdin=json.dumps(manifest))


def test_a_pod_that_asks_for_nothing_has_requests_a_pull_secret_and_no_token(
    ada: Namespace,
) -> None:
    pod = sleeping_pod("modest", {})
    del pod["spec"]["automountServiceAccountToken"]
    create = ("create", "--dry-run=server", "--filename=-", "--output=json")
    spec = json.loads(ada.kubectl(*create, stdin=json.dumps(pod)))["spec"]
    assert spec["containers"][0]["resources"] == {"requests": {"cpu": "100m", "memory": "256Mi"}}
    assert spec["imagePullSecrets"] == [{"name": PULL_SECRET}]
    assert "volumeMounts" not in spec["containers"][0]


def test_a_viewer_sees_all_but_secrets_and_changes_nothing(
    joan: Namespace,
) -> None:
    kinds = "pods,jobs,deployments,services,configmaps,events,pvc,resourcequotas,limitranges"
    joan.kubectl("get", f"{kinds},networkpolicies,roles,rolebindings,serviceaccounts")
    for words in (
        ("get", "secrets"),
        ("delete", f"--raw=/api/v1/namespaces/{joan.name}/pods/nowhere"),
        ("create", "configmap", "mine"),
        ("create", "token", "default"),
    ):
        with pytest.raises(CommandError, match="is forbidden: User"):
            joan.kubectl(*words)


PORT = 2222
KNOCK = f"import socket, sys; socket.create_connection((sys.argv[1], {PORT}), 4); print('open')"


def _pod_that_listens(namespace: Namespace, name: str = "listener", component: str = "") -> str:
    """A pod that listens, and the name by which others find it."""
    pod = sleeping_pod(name, {"command": ["python3", "-m", "http.server", str(PORT)]})
    task = {"app.kubernetes.io/component": component} if component else {}
    pod["metadata"]["labels"] = {"app": name, **task}
    namespace.apply(pod)
    namespace.kubectl("expose", "pod", name, f"--port={PORT}")
    namespace.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=2m")
    return f"{name}.{namespace.name}.svc"


def _knocked(namespace: Namespace, name: str) -> str:
    """What that pod of a namespace sees when it connects to a name."""
    try:
        return namespace.kubectl("exec", "listener", "--", "python3", "-c", KNOCK, name)
    except CommandError as error:
        return str(error)


def _await(namespace: Namespace, name: str, *, is_open: bool) -> None:
    """An enforcer needs some time, and drops the packet or rejects it. The name is always found."""
    words = ("open",) if is_open else ("timed out", "refused")

    def seen() -> bool:
        said = _knocked(namespace, name)
        assert any(word in said for word in words), said
        return True

    eventually(f"{name} seen from {namespace.name} to be open: {is_open}", seen, 60)


def test_pods_of_tenants_reach_their_own_namespace_and_what_is_listed(
    ada: Namespace, namespace: Namespace, tenants: dict[str, str]
) -> None:
    """By names, so that who is kept out has been answered by DNS."""
    other = replace(namespace, name=tenants["b"])
    of_a, of_b, outside = (_pod_that_listens(one) for one in (ada, other, namespace))
    task = _pod_that_listens(other, "task", component="ps")
    for knocking, name, is_open in (
        (ada, of_a, True),
        (other, of_b, True),
        (other, task, True),
        (namespace, outside, True),
        (other, of_a, False),
        (namespace, of_a, False),  # by A's policy alone: here is none
        (other, outside, False),  # by B's policy alone
    ):
        _await(knocking, name, is_open=is_open)
    label = "kubernetes.io/metadata.name"
    peer = {"namespaceSelector": {"matchLabels": {label: namespace.name}}}
    namespace.helm(
        *("upgrade", other.name, str(TENANT_CHART), "--reset-then-reuse-values"),
        f"--set-json=network.egress={json.dumps([{'to': [peer]}])}",
        f"--set-json=network.ingress={json.dumps([{'from': [peer]}])}",
        "--set=network.amongPods=false",
    )
    _await(other, outside, is_open=True)
    _await(namespace, of_b, is_open=True)
    _await(other, of_b, is_open=True)
    _await(other, task, is_open=False)  # a training's own policies would let in its tasks
