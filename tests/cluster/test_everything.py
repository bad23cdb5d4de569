"""One release with every value of pods trains, and each value is there in its running pods.

What a value does is looked at where it has its effect: in the container (variables, mounts, limits)
or, of what only Kubernetes reads, in the object as the server keeps it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from tf_cluster.progress.document import read_message
from tf_cluster.progress.line import newest

from tests.chart.helm import merged
from tests.cluster import turns
from tests.cluster.conftest import CHART, IMAGE, REQUESTS, MakeValues
from tests.cluster.custom_resources import absent_kinds
from tests.cluster.kubernetes import Namespace, Object, Release, condition
from tests.programs import SLOWLY
from tests.slices import in_turn
from tests.support.waiting import eventually
from tools.chart.values_docs import read_values

pytestmark = pytest.mark.cluster

STEPS = 2_000
TASKS = ("chief", "worker", "ps", "evaluator")
PAGES = ("notebook", "tensorboard")
BY_HAND = "by-hand"
"""A scheduler that nobody runs: the case itself gives TensorBoard's pod its node."""

TOLERATION = {"key": "training", "operator": "Exists", "effect": "NoSchedule"}
SPREAD = {
    "maxSkew": 2,
    "topologyKey": "kubernetes.io/hostname",
    "whenUnsatisfiable": "ScheduleAnyway",
    "labelSelector": {"matchLabels": {"team": "research"}},
}
AFFINITY = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {
                "weight": 1,
                "preference": {
                    "matchExpressions": [{"key": "kubernetes.io/os", "operator": "Exists"}]
                },
            }
        ]
    }
}
SCRATCH = {"name": "scratch", "mountPath": "/scratch"}
WORDS = {"name": "words", "mountPath": "/words", "readOnly": True}
# A shell that is process 1 ends with SIGTERM only where it says so.
STAYS = "trap 'exit 0' TERM; echo here > /scratch/beside; while :; do sleep 1; done"

# The defaults of all pods. `pod_values` puts in {training}, a name of this run's own.
POD: Mapping[str, Any] = {
    "extraEnv": [
        {"name": "FROM_ALL", "value": "all: of 'them' # {{ here }}"},
        {"name": "FROM_BOTH", "value": "all"},
        {"name": "FROM_SECRET", "valueFrom": {"secretKeyRef": {"name": "token", "key": "t"}}},
    ],
    "envFrom": [
        {"configMapRef": {"name": "words"}},
        {"prefix": "S3_", "secretRef": {"name": "token"}},
    ],
    "nodeSelector": {"kubernetes.io/os": "linux"},
    "tolerations": [TOLERATION],
    "affinity": AFFINITY,
    "topologySpreadConstraints": [SPREAD],
    "podLabels": {"team": "research", "role-of": "all"},
    "podAnnotations": {"example.com/note": "on"},
    "objectLabels": {"queue": "research"},
    "objectAnnotations": {"example.com/ticket": "17"},
    "priorityClassName": "{training}",
    "schedulerName": "default-scheduler",
    "runtimeClassName": "{training}",
    "resourceClaims": [{"name": "devices", "resourceClaimTemplateName": "no-devices"}],
    "extraVolumes": [
        {"name": "scratch", "emptyDir": {"sizeLimit": "8Mi"}},
        {"name": "words", "configMap": {"name": "words"}},
    ],
    "extraVolumeMounts": [SCRATCH, WORDS],
    "initContainers": [
        {
            "name": "fill",
            "image": IMAGE,
            "command": ["cp", "/words/GREETING", "/scratch/filled"],
            "volumeMounts": [SCRATCH, WORDS],
        }
    ],
    "sidecars": [
        {
            "name": "beside",
            "image": IMAGE,
            "command": ["sh", "-c", STAYS],
            "volumeMounts": [SCRATCH],
            "startupProbe": {
                "exec": {"command": ["test", "-e", "/scratch/beside"]},
                "periodSeconds": 1,
                "timeoutSeconds": 10,
                "failureThreshold": 60,
            },
            "resources": {"requests": {"cpu": "1m"}, "limits": {"memory": "64Mi"}},
        }
    ],
    "shmSize": "96Mi",
    "tmpSize": "2Gi",
    "containerSecurityContext": {"runAsGroup": 1500},
}
# What roles say for themselves, where it is not the same for each of them.
OWN: Mapping[str, Mapping[str, Any]] = {
    "worker": {"resources": {"claims": [{"name": "devices"}]}, "image": {"pullPolicy": "Never"}},
    "evaluator": {"shmSize": "32Mi"},
    "cleanup": {"containerSecurityContext": {"runAsGroup": 1600}},
    "tensorboard": {"schedulerName": BY_HAND, "resourceClaims": []},
}
EXTRA_OBJECTS: list[Object] = [
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "words"},
        "data": {"GREETING": "a: {{ b }}", "FROM_BOTH": "words"},
    },
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "token"},
        "stringData": {"t": "0777"},
    },
    {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "registry"},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": '{"auths": {}}'},
    },
    {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "no-devices"},
        "spec": {"spec": {"devices": {}}},
    },
]

# What a container says of itself, as JSON.
INSIDE = """
import json, os, pathlib
def text(*paths):
    return next(pathlib.Path(path).read_text().strip() for path in paths if os.path.exists(path))
of_one = pathlib.Path('/proc/1/environ').read_text().split(chr(0))
mounts = [line.split() for line in pathlib.Path('/proc/self/mountinfo').read_text().splitlines()]
shm = os.statvfs('/dev/shm')
print(json.dumps({
    'variables': dict(entry.split('=', 1) for entry in of_one if entry),
    'mounts': {fields[4]: fields[3] for fields in mounts},
    'read-only': [fields[4] for fields in mounts if 'ro' in fields[5].split(',')],
    'shm': shm.f_blocks * shm.f_frsize,
    'group': next(line.split()[1] for line in text('/proc/1/status').splitlines()
                  if line.startswith('Gid:')),
    'memory': text('/sys/fs/cgroup/memory.max', '/sys/fs/cgroup/memory/memory.limit_in_bytes'),
    'filled': text('/scratch/filled'),
    'beside': text('/scratch/beside'),
    'token': os.path.exists('/var/run/secrets/kubernetes.io'),
}))
"""


@dataclass(frozen=True)
class Seen:
    """A pod of a role as the server keeps it, its Job or Deployment, what its container says."""

    role: str
    pod: Object
    owner: Object
    values: Object
    """The values of its role: `pod`, and the role's own over it."""
    inside: Object | None
    """None: the pod has ended."""

    @property
    def spec(self) -> Object:
        return dict(self.pod["spec"])

    @property
    def container(self) -> Object:
        """The role's own; the only one that is no init container."""
        (found,) = self.spec["containers"]
        return dict(found)

    def variable(self, name: str) -> str:
        """Of the container's first process."""
        assert self.inside
        return str(self.inside["variables"][name])

    def beside(self, name: str) -> tuple[Object, Object]:
        """An init container: its spec and its status."""
        found = next(one for one in self.spec["initContainers"] if one["name"] == name)
        statuses = self.pod["status"]["initContainerStatuses"]
        return found, next(one for one in statuses if one["name"] == name)


def _extra_env(seen: Seen) -> None:
    if seen.inside:
        assert seen.variable("FROM_ALL") == "all: of 'them' # {{ here }}"
        assert (seen.variable("FROM_BOTH"), seen.variable("FROM_SECRET")) == (seen.role, "0777")


def _env_from(seen: Seen) -> None:
    assert len(seen.container["envFrom"]) == 2
    if seen.inside:
        assert (seen.variable("GREETING"), seen.variable("S3_t")) == ("a: {{ b }}", "0777")


def _same_in_the_spec(*keys: str) -> Callable[[Seen], None]:
    def check(seen: Seen) -> None:
        for key in keys:
            assert seen.spec[key] == seen.values[key]

    return check


def _tolerations(seen: Seen) -> None:
    assert TOLERATION in seen.spec["tolerations"]


def _affinity(seen: Seen) -> None:
    assert seen.spec["affinity"]["nodeAffinity"] == AFFINITY["nodeAffinity"]


def _pod_labels(seen: Seen) -> None:
    assert {"team": "research", "role-of": seen.role}.items() <= _labels(seen.pod).items()


def _pod_annotations(seen: Seen) -> None:
    assert seen.pod["metadata"]["annotations"]["example.com/note"] == "on"


def _object_labels(seen: Seen) -> None:
    assert _labels(seen.owner)["queue"] == "research"
    assert "queue" not in _labels(seen.pod)


def _object_annotations(seen: Seen) -> None:
    assert seen.owner["metadata"]["annotations"]["example.com/ticket"] == "17"
    assert "example.com/ticket" not in seen.pod["metadata"]["annotations"]


def _priority(seen: Seen) -> None:
    _same_in_the_spec("priorityClassName")(seen)
    assert (seen.spec["priority"], seen.spec["preemptionPolicy"]) == (7, "Never")


def _runtime_class(seen: Seen) -> None:
    _same_in_the_spec("runtimeClassName")(seen)
    assert seen.spec["overhead"] == {"cpu": "1m"}, "the class's own, which admission adds"


def _resource_claims(seen: Seen) -> None:
    assert seen.spec.get("resourceClaims", []) == seen.values["resourceClaims"]
    made = seen.pod["status"].get("resourceClaimStatuses", [])
    assert [one["name"] for one in made] == [one["name"] for one in seen.values["resourceClaims"]]
    if seen.role == "worker":
        assert seen.container["resources"]["claims"] == [{"name": "devices"}]


def _extra_volumes(seen: Seen) -> None:
    for given in POD["extraVolumes"]:
        stored = next(one for one in seen.spec["volumes"] if one["name"] == given["name"])
        assert given.keys() <= stored.keys()


def _extra_volume_mounts(seen: Seen) -> None:
    if seen.inside:
        assert {"/scratch", "/words"} <= seen.inside["mounts"].keys()
        assert "/words" in seen.inside["read-only"]
        assert "/scratch" not in seen.inside["read-only"]


def _init_containers(seen: Seen) -> None:
    container, status = seen.beside("fill")
    assert status["state"]["terminated"]["exitCode"] == 0
    assert container["securityContext"] == seen.container["securityContext"]
    if seen.inside:
        assert seen.inside["filled"] == "a: {{ b }}"


def _sidecars(seen: Seen) -> None:
    container, status = seen.beside("beside")
    assert container["restartPolicy"] == "Always"
    if seen.inside:
        assert status["started"] and "running" in status["state"]
        assert seen.inside["beside"] == "here"
    else:
        assert "terminated" in status["state"]


def _shm_size(seen: Seen) -> None:
    if seen.inside:
        assert seen.inside["shm"] == int(seen.values["shmSize"].removesuffix("Mi")) * 2**20


def _tmp_size(seen: Seen) -> None:
    (tmp,) = [one for one in seen.spec["volumes"] if one["name"] == "tmp"]
    assert tmp["emptyDir"] == {"sizeLimit": "2Gi"}
    if seen.inside:
        assert "/tmp" in seen.inside["mounts"] and "/tmp" not in seen.inside["read-only"]


def _container_security_context(seen: Seen) -> None:
    group = seen.values["containerSecurityContext"]["runAsGroup"]
    restricted = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True}
    stored = seen.container["securityContext"]
    assert {**restricted, "runAsGroup": group}.items() <= stored.items()
    if seen.inside:
        assert seen.inside["group"] == str(group)
        assert "/" in seen.inside["read-only"]


LOOKS: Mapping[str, Callable[[Seen], None]] = {
    "extraEnv": _extra_env,
    "envFrom": _env_from,
    "nodeSelector": _same_in_the_spec("nodeSelector"),
    "tolerations": _tolerations,
    "affinity": _affinity,
    "topologySpreadConstraints": _same_in_the_spec("topologySpreadConstraints"),
    "podLabels": _pod_labels,
    "podAnnotations": _pod_annotations,
    "objectLabels": _object_labels,
    "objectAnnotations": _object_annotations,
    "priorityClassName": _priority,
    "schedulerName": _same_in_the_spec("schedulerName"),
    "runtimeClassName": _runtime_class,
    "resourceClaims": _resource_claims,
    "extraVolumes": _extra_volumes,
    "extraVolumeMounts": _extra_volume_mounts,
    "initContainers": _init_containers,
    "sidecars": _sidecars,
    "shmSize": _shm_size,
    "tmpSize": _tmp_size,
    "containerSecurityContext": _container_security_context,
}
"""How each value of `pod` is looked for in a pod of any role."""


def test_every_value_of_pods_is_set_here_and_looked_for() -> None:
    documented = read_values((CHART / "values.yaml").read_text())
    names = {value.path[1] for value in documented if value.path[0] == "pod" and value.path[1:]}
    assert POD.keys() == names, "set the new value in POD"
    assert LOOKS.keys() == names, "say in LOOKS where a pod has the new value"


@pytest.fixture
def classes(namespace: Namespace) -> Iterator[str]:
    """A PriorityClass and a RuntimeClass of this run's own, of one name."""
    name = f"{namespace.name}-training"
    of_scheduling = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    of_nodes = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    metadata = {"metadata": {"name": name}}
    namespace.apply({**of_scheduling, **metadata, "value": 7, "preemptionPolicy": "Never"})
    overhead = {"podFixed": {"cpu": "1m"}}
    namespace.apply({**of_nodes, **metadata, "handler": "runc", "overhead": overhead})
    yield name
    namespace.kubectl("delete", "priorityclass", name)
    namespace.kubectl("delete", "runtimeclass", name)


def pod_values(classes: str) -> Object:
    """POD with this run's names in it."""
    return {key: classes if value == "{training}" else value for key, value in POD.items()}


def role_values(role: str) -> Object:
    """What a role says for itself."""
    index = (*TASKS, *PAGES, "cleanup").index(role)
    values: Object = {
        "extraEnv": [{"name": "FROM_BOTH", "value": role}],
        "podLabels": {"role-of": role},
        "resources": {**REQUESTS, "limits": {"memory": f"{2 + index}Gi"}},
    }
    if role != "cleanup":
        values["terminationGracePeriodSeconds"] = 31 + index
    return merged(values, OWN.get(role, {}))


@in_turn(turns.EVERYTHING, of=turns.OF)
def test_every_value_of_pods_is_there_in_a_training(
    namespace: Namespace,
    make_values: MakeValues,
    make_release: Callable[[str], Release],
    classes: str,
) -> None:
    absent = absent_kinds(namespace)
    route = {"enabled": "HTTPRoute" not in absent, "parentRefs": [{"name": "public"}]}
    pod = pod_values(classes)
    values = make_values(
        "everything",
        small=False,
        workers=2,
        ps=1,
        evaluator=True,
        **SLOWLY,
        train={"steps": STEPS, "stepsPerCall": 10},
        extraValues={
            "pod": pod,
            **{role: role_values(role) for role in TASKS},
            **{role: {"enabled": True, "httpRoute": route, **role_values(role)} for role in PAGES},
            "cleanup": {**role_values("cleanup"), "delaySeconds": {"success": 1}},
            "commonLabels": {"cost-centre": "42"},
            "commonAnnotations": {"example.com/owner": "null"},
            "image": {"pullSecrets": ["registry", {"name": "other"}]},
            "run": {"deadlineSeconds": 900},
            "logging": {"format": "json"},
            "serviceAccount": {"create": True, "annotations": {"example.com/identity": "trainer"}},
            "storage": {"data": {"subPath": "sets/digits"}, "log": {"subPath": "team/runs"}},
            "security": {"networkPolicy": {"statusFrom": [{"namespaceSelector": {}}]}},
            "monitoring": {
                "podMonitor": {"enabled": "PodMonitor" not in absent},
                "rules": {"enabled": "PrometheusRule" not in absent},
                "dashboard": {"enabled": True},
            },
            "extraObjects": EXTRA_OBJECTS,
        },
    )
    release = make_release("everything")
    release.install(values)

    def looked_at(role: str, pod_of_it: Object, inside: Object | None) -> Seen:
        kind = "deployment" if role in ("ps", *PAGES) else "job"
        mine = merged(pod, role_values(role))
        seen = Seen(role, pod_of_it, release.one(kind, role), mine, inside)
        for name, look in LOOKS.items():
            try:
                look(seen)
            except (AssertionError, LookupError) as error:
                raise AssertionError(f"{role}: {name}: {error!r}") from error
        _has_what_the_release_says(seen)
        return seen

    pods = {
        role: eventually(f"a {role} to run", lambda role=role: release.running(role)[0], 240)  # type: ignore[misc]
        for role in TASKS
    }
    _bind(namespace, release.one("pod", "tensorboard"), pods["chief"]["spec"]["nodeName"])
    for role in PAGES:
        pods[role] = eventually(f"a {role}", lambda role=role: release.running(role)[0], 120)  # type: ignore[misc]
    for role in ("chief", "evaluator"):
        eventually(f"a record of the {role}", lambda role=role: _records(release, role), 60)  # type: ignore[misc]
    # A worker and a ps that are well may say nothing before their end; then a ps' pod goes.
    ps = pods["ps"]
    log = ThreadPoolExecutor(1).submit(
        *(namespace.kubectl, "logs", ps["metadata"]["name"], "--container=ps", "--follow"),
        seconds=900,
    )
    for role, found in pods.items():
        seen = looked_at(role, found, _inside(namespace, found, role))
        assert seen.spec["serviceAccountName"] == "everything"
        assert seen.inside and not seen.inside["token"]
        index = (*TASKS, *PAGES).index(role)
        assert seen.spec["terminationGracePeriodSeconds"] == 31 + index
        assert seen.inside["memory"] == str((2 + index) * 2**30)
        claims = {"/log": "team/runs"} | ({} if role == "tensorboard" else {"/data": "sets/digits"})
        for path, directory in claims.items() if role != "ps" else ():
            assert seen.inside["mounts"][path].endswith(f"/{directory}")
    worker, notebook = pods["worker"]["spec"], pods["notebook"]["spec"]
    assert worker["containers"][0]["imagePullPolicy"] == "Never"
    assert notebook["containers"][0]["image"] == f"{IMAGE}-notebook"

    _has_its_objects(release, absent)
    assert release.one("job", "chief")["spec"]["activeDeadlineSeconds"] == 900
    eventually(
        "ready pages",
        lambda: all(condition(release.one("pod", role), "Ready") for role in PAGES),
        90,
    )
    namespace.helm("test", release.name)

    release.await_job("chief", "Complete", 300)
    for role in ("worker", "evaluator", "cleanup"):
        release.await_job(role, "Complete", 120)
    looked_at("cleanup", release.one("pod", "cleanup"), None)
    _has_told_in_records(release)
    assert _records_of("ps", ps, log.result(120))
    release.uninstall()


def _has_told_in_records(release: Release) -> None:
    for role in ("chief", "worker", "evaluator", "cleanup"):
        assert _records(release, role)
    told = [record for record in _records(release, "chief") if record.get("event") == "progress"]
    assert [record["step"] for record in told] == sorted(record["step"] for record in told)
    assert told[-1]["step"] >= STEPS
    read = newest(map(json.dumps, _records(release, "chief")))
    assert read is not None and read.percent == 100.0
    *_, scaled, last = _records(release, "cleanup")
    assert scaled["message"].startswith("scaled to 0: ")
    assert last["message"].endswith("; nothing is left to do")
    assert {scaled["severity"], last["severity"]} == {"INFO"}


def _records(release: Release, role: str) -> list[Object]:
    """What the pods of a role printed: each line is a record that says whose it is."""
    records = []
    for pod in release.objects("pod", role):
        log = release.namespace.kubectl("logs", pod["metadata"]["name"], "--container", role)
        records += _records_of(role, pod, log)
    return records


def _records_of(role: str, pod: Object, log: str) -> list[Object]:
    """The records of one pod's log."""
    labels = pod["metadata"]["labels"]
    records = [dict(json.loads(line)) for line in log.splitlines()]
    for record in records:
        assert record["time"].endswith("Z") and "message" in record
        whose = (record["release"], record["run"], record["role"])
        assert whose == ("everything", labels["tf-cluster.io/run"], role)
        assert record["attempt"] == labels.get("tf-cluster.io/attempt", record["attempt"])
    return records


def _has_what_the_release_says(seen: Seen) -> None:
    assert seen.spec["imagePullSecrets"] == [{"name": "registry"}, {"name": "other"}]
    assert seen.container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert _labels(seen.owner)["cost-centre"] == "42"
    assert seen.owner["metadata"]["annotations"]["example.com/owner"] == "null"
    assert "cost-centre" not in _labels(seen.pod)


def _has_its_objects(release: Release, absent: frozenset[str]) -> None:
    """What the release has that no role has, with the release's labels."""
    account = release.one("serviceaccount", "security")
    assert account["metadata"]["annotations"]["example.com/identity"] == "trainer"
    extra = release.objects("configmap,secret,resourceclaimtemplate", "extra")
    names = [one["metadata"]["name"] for one in EXTRA_OBJECTS]
    assert sorted(one["metadata"]["name"] for one in extra) == sorted(names)
    assert all(_labels(one)["cost-centre"] == "42" for one in extra)
    kinds = [kind for kind in ("PodMonitor", "PrometheusRule") if kind not in absent]
    made = release.objects(",".join(["configmap", *kinds]), "monitoring")
    assert sorted(one["kind"] for one in made) == ["ConfigMap", *kinds]
    for role in PAGES if "HTTPRoute" not in absent else ():
        (rule,) = release.one("httproute", role)["spec"]["rules"]
        assert rule["backendRefs"][0]["name"] == f"everything-{role}"


def test_a_program_error_ends_a_training_that_has_sidecars(
    make_values: MakeValues, make_release: Callable[[str], Release]
) -> None:
    alone = {
        "name": "beside",
        "image": IMAGE,
        "command": ["sh", "-c", "trap 'exit 0' TERM; while :; do sleep 1; done"],
    }
    values = make_values(
        "wrong-beside",
        extraValues={
            "pod": {"sidecars": [alone]},
            "cleanup": {"workersTimeoutSeconds": 1, "delaySeconds": {"failure": 0}},
        },
    )
    # `tf-cluster generate` would refuse it: this is a values file that a person changed.
    values.write_text(values.read_text().replace("digits:Digits", "digits:Digitz"))
    release = make_release("wrong-beside")
    release.install(values)
    release.await_job("chief", "Failed", 120)
    pod = release.one("pod", "chief")
    (ended,) = pod["status"]["containerStatuses"]
    assert ended["state"]["terminated"]["exitCode"] == 2
    told = read_message(ended["state"]["terminated"]["message"])
    assert told and told.status == "failed" and "Digitz" in told.message
    (beside,) = pod["status"]["initContainerStatuses"]
    assert "terminated" in beside["state"]
    for role in ("worker", "cleanup"):  # a worker of an attempt that has failed ends well
        release.await_job(role, "Complete", 120)
    eventually("no pod that runs", lambda: not _running(release), 90)
    release.uninstall()


def _running(release: Release) -> list[str]:
    pods = release.objects("pod")
    return [one["metadata"]["name"] for one in pods if one["status"]["phase"] == "Running"]


def _labels(obj: Object) -> dict[str, str]:
    return dict(obj["metadata"]["labels"])


def _bind(namespace: Namespace, pod: Object, node: str) -> None:
    """Give a pod its node, as a scheduler does. It is one that no scheduler has taken."""
    assert pod["status"]["phase"] == "Pending" and "nodeName" not in pod["spec"]
    name = pod["metadata"]["name"]
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}
    path = f"/api/v1/namespaces/{namespace.name}/pods/{name}/binding"
    namespace.kubectl("create", f"--raw={path}", "--filename=-", stdin=json.dumps(binding))


def _inside(namespace: Namespace, pod: Object, role: str) -> Object:
    """What the role's container says of itself."""
    name = pod["metadata"]["name"]
    said = namespace.kubectl("exec", name, f"--container={role}", "--", "python", "-c", INSIDE)
    return dict(json.loads(said))
