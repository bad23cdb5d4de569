"""The pod template of each role as data: what templates/_pod.tpl renders."""

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tf_cluster.planning.placement import membership, neighbours, spread_rules
from tf_cluster.planning.release import Release
from tf_cluster.planning.roles import POD_ROLES, PORTS, PodRole

_LAID_OVER = (
    *("podLabels", "podAnnotations", "objectLabels", "objectAnnotations"),
    "containerSecurityContext",
)
_PASSED_ON = (
    *("priorityClassName", "schedulerName", "runtimeClassName", "nodeSelector", "tolerations"),
    *("topologySpreadConstraints", "resourceClaims"),
)
_GPU = re.compile(r"gpu|/mig-")
_NAMES_A_REGISTRY = re.compile(r"(localhost|[^/]*[.:][^/]*)/")

Data = dict[str, Any]


@dataclass(frozen=True)
class PodNames:
    """The names of an attempt that its pods have in them."""

    attempt: str
    service: str
    config: str


@dataclass(frozen=True)
class PodDetails:
    """What one role's pods have besides; as the comment above `tf-cluster.pod` says it."""

    names: PodNames | None = None
    index: int | None = None
    hostname: str = ""
    grace_seconds: int = 0
    pre_stop_seconds: int = 0
    service_account: str = ""
    args: tuple[str, ...] = ()
    mounts: tuple[Data, ...] = ()


def pod_template(release: Release, role: PodRole, details: PodDetails) -> Data:
    """The template of a role's pods: metadata and spec."""
    pod = pod_values(release, role)
    names = details.names or PodNames("", "", "")
    member = membership(release, role, names.service)
    pod["schedulerName"] = member.get("schedulerName") or pod.get("schedulerName")
    rules = pod.get("topologySpreadConstraints") or []
    pod["topologySpreadConstraints"] = spread_rules(release, role, names.attempt, rules)
    for key, name in (("labels", "podLabels"), ("annotations", "podAnnotations")):
        pod[name] = _laid_over(member.get(key), pod.get(name))
    annotations = _annotations(release, role, pod)
    return {
        "metadata": {
            "labels": {
                **pod_labels(release, role, details),
                **({"tf-cluster.io/run": release.values["run"]["id"]} if details.names else {}),
                **pod["podLabels"],
            },
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": _spec(release, role, details, pod),
    }


def pod_labels(release: Release, role: PodRole, details: PodDetails) -> Data:
    """Labels of a pod; also the selector of its Deployment."""
    labels: Data = {**release.identity, "app.kubernetes.io/component": role.name}
    if role.task and details.names:
        labels["tf-cluster.io/attempt"] = details.names.attempt
    if details.index is not None:
        labels["tf-cluster.io/index"] = str(details.index)
    return labels


def pod_values(release: Release, role: PodRole) -> Data:
    """The values of a role's pods: those of `pod`, then the role's own."""
    values: Data = {}
    for name in ("pod", role.name):
        for key, given in release.section(name).items():
            value = given
            if key in _LAID_OVER:
                value = _laid_over(values.get(key), given)
            elif key == "extraEnv":
                value = _merged_env(values.get(key), given)
            if value is not None:
                values[key] = value
    return values


def resources(release: Release, role: PodRole) -> Mapping[str, Any]:
    """Requests and limits of a role's container."""
    return pod_values(release, role).get("resources") or role.resources


def image(release: Release, role: PodRole, pod: Mapping[str, Any]) -> str:
    """The image of a role's pods."""
    from tf_cluster.expand.image import DEFAULT_TAG

    own, shared = pod.get("image") or {}, release.section("image")
    repository = str(own.get("repository") or shared.get("repository"))
    of_all = release.section("global").get("imageRegistry")
    if _NAMES_A_REGISTRY.match(repository):
        of_all = ""
    registry = own.get("registry") or shared.get("registry") or of_all
    name = "/".join(part for part in (registry, repository) if part)
    is_other = own.get("digest") or own.get("repository") or own.get("tag")
    digest = own.get("digest") if is_other else shared.get("digest")
    if digest:
        return f"{name}@{digest}"
    suffix = "" if own.get("tag") else role.tag_suffix
    return f"{name}:{own.get('tag') or shared.get('tag') or DEFAULT_TAG}{suffix}"


def service_account(release: Release) -> str:
    """The account of all pods but cleanup's; empty is the namespace's default."""
    account = release.section("serviceAccount")
    return str(account.get("name") or (release.fullname if account.get("create") else ""))


def _annotations(release: Release, role: PodRole, pod: Mapping[str, Any]) -> Data:
    scrape = {}
    if role.task and release.section("monitoring").get("scrapeAnnotations"):
        scrape = {
            "prometheus.io/scrape": "true",
            "prometheus.io/port": str(PORTS["status"]),
            "prometheus.io/path": "/metrics",
        }
    return _laid_over(scrape, pod.get("podAnnotations"))


def _spec(release: Release, role: PodRole, details: PodDetails, pod: Mapping[str, Any]) -> Data:
    security = release.section("security")
    account = details.service_account or role.account or service_account(release)
    spec: Data = {
        "automountServiceAccountToken": bool(details.service_account),
        "enableServiceLinks": False,
        "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
        "securityContext": security.get("podSecurityContext") or {},
        "containers": [_container(release, role, details, pod)],
        "volumes": [
            *(
                {"name": one["name"], **one["volume"]}
                for one in _mounts(release, role, details, pod)
            ),
            *(pod.get("extraVolumes") or []),
        ],
    }
    if "terminationGracePeriodSeconds" in pod:
        own_grace = _whole(pod["terminationGracePeriodSeconds"])
        spec["terminationGracePeriodSeconds"] = details.grace_seconds or own_grace
    optional = {
        "serviceAccountName": account,
        "hostname": details.hostname,
        "subdomain": details.names.service if role.task and details.names else "",
        "restartPolicy": role.restart_policy,
        "imagePullSecrets": _pull_secrets(release),
        **{key: pod.get(key) for key in _PASSED_ON},
        "affinity": _affinity(release, role, details, pod),
        "initContainers": _beside(pod),
    }
    return {**spec, **{key: value for key, value in optional.items() if value}}


def _container(
    release: Release, role: PodRole, details: PodDetails, pod: Mapping[str, Any]
) -> Data:
    own = pod.get("image") or {}
    probe: Data = {}
    if role.probe:
        path = f"{pod.get('pathPrefix') or ''}{role.probe['path']}"
        probe = {"httpGet": {"path": path, "port": role.probe["port"]}, "periodSeconds": 5}
        if role.page:
            probe["timeoutSeconds"] = 20
    sleep = {"exec": {"command": ["sleep", str(details.pre_stop_seconds)]}}
    optional = {
        "command": list(role.command),
        "args": list(details.args),
        "envFrom": pod.get("envFrom"),
        "ports": [{"name": name, "containerPort": PORTS[name]} for name in role.ports],
        "readinessProbe": probe,
        "lifecycle": {"preStop": sleep} if details.pre_stop_seconds else {},
    }
    return {
        "name": role.name,
        "image": image(release, role, pod),
        "imagePullPolicy": own.get("pullPolicy") or release.section("image").get("pullPolicy"),
        "env": _merged_env(_own_env(release, role, details, pod), pod.get("extraEnv")),
        "resources": pod.get("resources") or role.resources,
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "securityContext": pod.get("containerSecurityContext") or {},
        "volumeMounts": [
            *(
                {"name": one["name"], **one["mount"]}
                for one in _mounts(release, role, details, pod)
            ),
            *(pod.get("extraVolumeMounts") or []),
        ],
        **{key: value for key, value in optional.items() if value},
    }


def _mounts(
    release: Release, role: PodRole, details: PodDetails, pod: Mapping[str, Any]
) -> list[Data]:
    """What the pod mounts: each a name, the rest of the mount and the rest of the volume."""
    size = pod.get("tmpSize")
    found: list[Data] = [
        _mount("tmp", {"mountPath": "/tmp"}, {"emptyDir": {"sizeLimit": size} if size else {}})
    ]
    if pod.get("shmSize"):
        shm = {"emptyDir": {"medium": "Memory", "sizeLimit": str(pod["shmSize"])}}
        found.append(_mount("shm", {"mountPath": "/dev/shm"}, shm))
    if role.task and details.names:
        found.append(config_mount(details.names.config))
    login = _login(release, role)
    if login:
        mount = {"mountPath": "/etc/tf-cluster-source", "readOnly": True}
        found.append(
            _mount("login", mount, {"secret": {"secretName": login, "defaultMode": 0o440}})
        )
    for volume in release.mounted(role):
        mount = {"mountPath": f"/{volume}"}
        path = release.values["storage"][volume].get("subPath")
        if path:
            mount["subPath"] = path
        if role.read_only:
            mount["readOnly"] = True
        found.append(_mount(volume, mount, _shared(release, volume)))
    return [*found, *details.mounts]


def _shared(release: Release, volume: str) -> Data:
    """The volume at /data or /log: a claim, or an empty directory of the pod."""
    if volume not in release.claims:
        return {"emptyDir": {}}
    claim: Data = {"claimName": release.claim(volume)}
    if release.values["storage"][volume].get("accessModes") == ["ReadOnlyMany"]:
        claim["readOnly"] = True
    return {"persistentVolumeClaim": claim}


def config_mount(name: str) -> Data:
    """The mount of the tasks' ConfigMap."""
    mount = {"mountPath": "/etc/tf-cluster", "readOnly": True}
    return _mount("config", mount, {"configMap": {"name": name}})


def _mount(name: str, mount: Data, volume: Data) -> Data:
    return {"name": name, "mount": mount, "volume": volume}


def _login(release: Release, role: PodRole) -> Any:
    """The Secret with the login of a private source, for the roles that fetch it."""
    program = release.section("program")
    free = bool(program.get("script")) or release.client != "chief"
    fetches = {
        "always": True,
        "free": free,
        "script": release.ps_run_script,
        "never": False,
    }[role.code]
    return (program.get("source") or {}).get("secretName") if fetches else None


def _own_env(
    release: Release, role: PodRole, details: PodDetails, pod: Mapping[str, Any]
) -> list[Data]:
    found: list[Data] = []
    if role.task:
        found.append(_variable("TF_CLUSTER_TASK_TYPE", role.name))
        if role.index == "chart":
            found.append(_variable("TF_CLUSTER_TASK_INDEX", str(details.index or 0)))
        if role.job:
            label = "metadata.labels['batch.kubernetes.io/controller-uid']"
            found.append(_from_field("TF_CLUSTER_JOB_UID", label))
        found.append(_from_field("TF_CLUSTER_POD_UID", "metadata.uid"))
        found.append(_variable("GRPC_FAIL_FAST", "use_caller"))
        found.append(_variable("TF_CPP_MIN_LOG_LEVEL", "1"))
    is_logged = (role.task or role.job) and details.names
    if is_logged and details.names and release.section("logging").get("format") == "json":
        found.append(_variable("TF_CLUSTER_LOG_FORMAT", "json"))
        found.append(_variable("TF_CLUSTER_RELEASE", release.fullname))
        found.append(_variable("TF_CLUSTER_RUN", release.values["run"]["id"]))
        found.append(_variable("TF_CLUSTER_ATTEMPT", details.names.attempt))
    found += _role_env(release, role)
    if not _may_use_gpus(role, pod):
        found.append(_variable("NVIDIA_VISIBLE_DEVICES", "void"))
    return [*found, _variable("HOME", "/tmp"), _variable("USER", "trainer")]


def _role_env(release: Release, role: PodRole) -> list[Data]:
    """The variables that a role alone has."""
    values = release.section(role.name)
    if role.name == "evaluator":
        found = [_variable("TF_CLUSTER_STATUS", f"0.0.0.0:{PORTS['status']}")]
        best = values.get("exportBest") or {}
        if best.get("metric"):
            said = f"{best.get('mode')}:{best['metric']}"
            found.append(_variable("TF_CLUSTER_EXPORT_BEST", said))
        return found
    if role.name == "notebook":
        found = [_variable("NOTEBOOK_DIR", f"/log/{release.fullname}/_notebooks")]
        token = values.get("token") or {}
        if token.get("existingSecret"):
            secret = {"name": token["existingSecret"], "key": token.get("key")}
            found.append({"name": "JUPYTER_TOKEN", "valueFrom": {"secretKeyRef": secret}})
        if release.interactive:
            seconds = _whole(release.section("interactive").get("idleSeconds"))
            found.append(_variable("NOTEBOOK_CULL_SECONDS", str(seconds)))
        return found
    return []


def _may_use_gpus(role: PodRole, pod: Mapping[str, Any]) -> bool:
    given = pod.get("resources") or {}
    asks = given.get("claims") or _GPU.search(" ".join(given.get("limits") or {}))
    return role.gpus == "always" or (role.gpus == "asked" and bool(asks))


def _affinity(release: Release, role: PodRole, details: PodDetails, pod: Mapping[str, Any]) -> Data:
    affinity: Data = copy.deepcopy(pod.get("affinity") or {})
    wishes = neighbours(release, role, details.names.attempt) if details.names else []
    if wishes:
        near = affinity.get("podAffinity") or {}
        preferred = "preferredDuringSchedulingIgnoredDuringExecution"
        near[preferred] = [*(near.get(preferred) or []), *wishes]
        affinity["podAffinity"] = near
    if release.mounted(role) and release.colocate:
        near = affinity.get("podAffinity") or {}
        required = "requiredDuringSchedulingIgnoredDuringExecution"
        near[required] = [*(near.get(required) or []), _colocation(release)]
        affinity["podAffinity"] = near
    return affinity


def _colocation(release: Release) -> Data:
    of_ps = release.ps_run_script or release.ps_mount_log
    whens = ("always", "script") if of_ps else ("always",)
    names = [role.name for when in whens for role in POD_ROLES.values() if role.claims == when]
    component = {"key": "app.kubernetes.io/component", "operator": "In", "values": names}
    return {
        "topologyKey": "kubernetes.io/hostname",
        "labelSelector": {"matchLabels": release.identity, "matchExpressions": [component]},
    }


def _beside(pod: Mapping[str, Any]) -> list[Data]:
    """The containers beside the role's own: sidecars, then init containers."""
    sidecars = [{**one, "restartPolicy": "Always"} for one in pod.get("sidecars") or []]
    default = {"securityContext": pod.get("containerSecurityContext")}
    return [_laid_over(default, one) for one in [*sidecars, *(pod.get("initContainers") or [])]]


def _pull_secrets(release: Release) -> list[Data]:
    found: list[Data] = []
    own = release.section("image").get("pullSecrets") or []
    for one in [*own, *(release.section("global").get("imagePullSecrets") or [])]:
        secret = {"name": one} if isinstance(one, str) else one
        if secret not in found:
            found.append(secret)
    return found


def _laid_over(base: Mapping[str, Any] | None, over: Mapping[str, Any] | None) -> Data:
    """A map laid over another by key, at every depth."""
    result: Data = copy.deepcopy(dict(base or {}))
    for key, value in (over or {}).items():
        both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
        result[key] = _laid_over(result[key], value) if both else value
    return result


def _merged_env(base: Sequence[Data] | None, over: Sequence[Data] | None) -> list[Data]:
    """Two lists of variables. One of the second replaces one of the first."""
    names = {one["name"] for one in over or []}
    return [*(one for one in base or [] if one["name"] not in names), *(over or [])]


def _variable(name: str, value: Any) -> Data:
    return {"name": name, "value": value}


def _from_field(name: str, path: str) -> Data:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _whole(value: Any) -> int:
    """A number as Go's int64 takes it."""
    return int(value or 0)
