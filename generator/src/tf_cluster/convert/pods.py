"""The other fields of pods and containers: most have a value of the chart of the same name."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tf_cluster.convert.container import NAME, container_of, others_of
from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job, is_empty
from tf_cluster.convert.resources import put_resources
from tf_cluster.convert.roles import Plan, Role
from tf_cluster.convert.volumes import renamed
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

_OF_PODS = (
    *("nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"),
    *("priorityClassName", "schedulerName", "runtimeClassName", "resourceClaims"),
    "terminationGracePeriodSeconds",
)
_OF_CONTAINERS = {"envFrom": "envFrom", "securityContext": "containerSecurityContext"}
_OF_METADATA = {"labels": "podLabels", "annotations": "podAnnotations"}
_DEFAULTS: dict[str, Any] = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "hostNetwork": False,
    "hostPID": False,
    "hostIPC": False,
    "shareProcessNamespace": False,
    "automountServiceAccountToken": False,
    "enableServiceLinks": False,
    "setHostnameAsFQDN": False,
    "preemptionPolicy": "PreemptLowerPriority",
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "stdin": False,
    "stdinOnce": False,
    "tty": False,
}
"""What the chart's pods, or all pods, have where nothing is said: such a field needs nothing."""

_OPERATORS = re.compile(
    r"training\.kubeflow\.org/.*|(tf-)?(job-name|replica-type|replica-index)|job-role|group-name"
)
"""Labels that the TFJob operator, of one version or another, gives its pods."""
_PORT = 2222
_PORT_NAME = "tfjob-port"
_WHY = {
    "hostNetwork": "tasks have addresses of their own, in the cluster's network",
    "livenessProbe": "the chart has probes of its own",
    "readinessProbe": "the chart has probes of its own",
    "startupProbe": "the chart has probes of its own",
    "lifecycle": "a task saves on SIGTERM; for the ps there is ps.preStopSeconds",
    "automountServiceAccountToken": "no pod of the chart gets a token of its account",
    "dnsPolicy": "it stays ClusterFirst",
    "enableServiceLinks": "pods get no variables of other Services here",
}


def put_pods(job: Job, plan: Plan, draft: Draft) -> None:
    """Every role's pods, and what all of them have in common."""
    for role in plan.roles:
        _put_pod(job, role, draft)
        _put_container(job, role, draft)
        _put_others(job, role, draft)
    _put_shared(job, plan, draft)
    if plan.joined:
        _join(job, plan.joined, plan.lead)
    for role in plan.roles:
        _explain(job, role)


def _put_pod(job: Job, role: Role, draft: Draft) -> None:
    for key, value in _OF_METADATA.items():
        _pass_on(job, (*role.pod, "metadata", key), ("extraValues", role.target, value), draft)
    for key in ("name", "generateName", "creationTimestamp", "namespace"):
        if job.get((*role.pod, "metadata", key)) is not None:
            job.leave_out((*role.pod, "metadata", key), "the chart names its pods")
    for key in _OF_PODS:
        path = (*role.spec, key)
        if key in _DEFAULTS and job.get(path) == _DEFAULTS[key]:
            job.leave_out(path, "the default")
        else:
            _pass_on(job, path, ("extraValues", role.target, key), draft)
            _tell_operators_labels(job, role, path)
    path = (*role.spec, "restartPolicy")
    if job.get(path) is not None:
        job.leave_out(path, "the restart policy of the replicas counts")


def _tell_operators_labels(job: Job, role: Role, path: Pointer) -> None:
    """A selector by labels that the operator sets chooses no pod of the chart."""
    own = job.keys((*role.pod, "metadata", "labels"))
    labels = [
        one for one in _selected(job.get(path)) if _OPERATORS.fullmatch(one) and one not in own
    ]
    if labels:
        why = (
            f"the operator sets {cut(labels[0])}, and pods here have other labels: "
            "app.kubernetes.io/instance is the release, app.kubernetes.io/component the role"
        )
        job.remark(path, why, "extraValues")


def _selected(value: Any) -> Iterator[str]:
    """The labels of every labelSelector in a value, by their names."""
    for key, inner in value.items() if isinstance(value, dict) else ():
        if key == "labelSelector" and isinstance(inner, dict):
            wanted, rules = inner.get("matchLabels"), inner.get("matchExpressions")
            yield from map(str, wanted) if isinstance(wanted, dict) else ()
            for one in rules if isinstance(rules, list) else ():
                yield str(one.get("key")) if isinstance(one, dict) else ""
        else:
            yield from _selected(inner)
    for inner in value if isinstance(value, list) else ():
        yield from _selected(inner)


def _put_container(job: Job, role: Role, draft: Draft) -> None:
    container = container_of(job, role)
    name = (*container, "name")
    if job.text(name) == NAME:
        job.leave_out(name, f"the chart's container is called {role.target}")
    elif job.get(name) is not None:
        why = "the chart names its container"
        job.leave_out(name, why) if not others_of(job, role) else job.to_do(
            name, f"no container is called {NAME}: the first is taken for the one that trains"
        )
    put_resources(job, role, container, draft)
    _put_env(job, role, container, draft)
    for key, value in _OF_CONTAINERS.items():
        _pass_on(job, (*container, key), ("extraValues", role.target, value), draft)
    _let_root(job, (*container, "securityContext"), draft, role.target, "containerSecurityContext")
    for port in job.items((*container, "ports")):
        if job.get((*port, "containerPort")) == _PORT or job.text((*port, "name")) == _PORT_NAME:
            job.leave_out(port, "tasks have TensorFlow's port")
        else:
            job.to_do(port, "tasks serve TensorFlow's port and the status port", "extraValues")


def _let_root(job: Job, path: Pointer, draft: Draft, *target: str) -> None:
    """Who asks for user 0 means it: by the chart's rule against it no pod would start."""
    if _means_root(job.get(path)):
        draft.put(("extraValues", *target, "runAsNonRoot"), False, (*path, "runAsUser"))


def _means_root(context: Any) -> bool:
    """Whether a security context asks for user 0, and says nothing of the rule against it."""
    is_given = isinstance(context, dict)
    return is_given and context.get("runAsUser") == 0 and context.get("runAsNonRoot") is None


def _put_env(job: Job, role: Role, container: Pointer, draft: Draft) -> None:
    paths = job.items((*container, "env"))
    last = {job.text((*path, "name")): path for path in paths}
    target = ("extraValues", role.target, "extraEnv")
    for path in paths:
        name = job.text((*path, "name"))
        if last[name] != path:
            why = (
                f"{cut(name)} stands again on line {job.line(last[name])}, and the last one counts"
            )
            job.leave_out(path, why)
            continue
        if not isinstance(job.get(path), dict):
            continue
        kept = {key: value for key, value in job.get(path).items() if value is not None}
        draft.append(target, kept, path)
        job.maps(path, dotted(target), cut(name))


def _put_others(job: Job, role: Role, draft: Draft) -> None:
    """Init containers, and the containers beside the one that trains."""
    inits = job.items((*role.spec, "initContainers"))
    for path in inits:
        is_sidecar = job.get((*path, "restartPolicy")) == "Always"
        _put_other(job, role, path, "sidecars" if is_sidecar else "initContainers", draft)
    for path in others_of(job, role):
        _put_other(job, role, path, "sidecars", draft)


def _put_other(job: Job, role: Role, path: Pointer, key: str, draft: Draft) -> None:
    container = job.get(path)
    if not isinstance(container, dict):
        return
    target = ("extraValues", role.target, key)
    kept = {
        one: value
        for one, value in container.items()
        if value not in (None, {}, []) and not (one in _DEFAULTS and value == _DEFAULTS[one])
    }
    if key == "sidecars" and "restartPolicy" in kept:
        del kept["restartPolicy"]
    if _means_root(kept.get("securityContext")):
        kept["securityContext"] = {**kept["securityContext"], "runAsNonRoot": False}
    if isinstance(kept.get("volumeMounts"), list):
        kept["volumeMounts"] = [
            {**mount, "name": renamed(mount["name"])}
            if isinstance(mount, dict) and isinstance(mount.get("name"), str)
            else mount
            for mount in kept["volumeMounts"]
        ]
    draft.append(target, kept, path)
    words = "which ends with the task" if key == "sidecars" else ""
    job.maps(path, dotted(target), words)


def _put_shared(job: Job, plan: Plan, draft: Draft) -> None:
    """What the chart has once for all roles."""
    roles = [role for role in (plan.lead, *plan.roles, plan.joined) if role]
    for key in ("serviceAccountName", "serviceAccount"):
        paths = [(*r.spec, key) for r in roles if job.text((*r.spec, key))]
        _once(job, paths, ("serviceAccount",), draft)
    path = [(*r.spec, "imagePullSecrets") for r in roles]
    _once(job, path, ("imagePullSecrets",), draft)
    path = [(*container_of(job, r), "imagePullPolicy") for r in roles]
    _once(job, path, ("extraValues", "image", "pullPolicy"), draft)
    path = [(*r.spec, "securityContext") for r in roles]
    target: Pointer = ("extraValues", "security", "podSecurityContext")
    _once(job, path, target, draft)
    if target in draft.origins:
        _let_root(job, draft.origins[target], draft, "security", "podSecurityContext")


def _once(job: Job, paths: Sequence[Pointer], target: Pointer, draft: Draft) -> None:
    """One value for all roles: that of the first that has one."""
    for path in dict.fromkeys(paths):
        value = job.get(path)
        if value == "" or is_empty(value) or job.is_told(path):
            continue
        if target == ("imagePullSecrets",):
            value = _names(value)
        known = draft.get(target)
        if known is None:
            draft.put(target, value, path)
            job.maps(path, dotted(target), "for all roles")
        elif known == value:
            job.maps(path, dotted(target))
        else:
            job.to_do(path, f"{dotted(target)} is the same for all roles", str(target[0]))


def _names(items: Any) -> Any:
    """The names in a list of `{name: …}`, each once. What has no name stays, to be refused."""
    if not isinstance(items, list):
        return items
    names: list[Any] = []
    for item in items:
        name = item["name"] if isinstance(item, dict) and set(item) == {"name"} else item
        names += [name] if name not in names else []
    return names


def _pass_on(job: Job, path: Pointer, target: Pointer, draft: Draft) -> None:
    value = job.get(path)
    if value == "" or is_empty(value):
        return
    draft.put(target, value, path)
    job.maps(path, dotted(target))


def _join(job: Job, chief: Role, lead: Role) -> None:
    """A chief that becomes worker 0: what it has that the workers have not is to do."""
    job.remark(
        chief.path,
        "the chief becomes worker 0: TF_CONFIG then names workers only, and worker 0 is the chief",
        "workers",
    )
    _compare(job, chief.pod, lead.pod, _pairs(job, chief, lead))


def _pairs(job: Job, mine: Role, theirs: Role) -> dict[Pointer, Pointer]:
    """Which containers are the same in both, wherever they stand: those that train, and by name."""
    named = {job.text((*path, "name")): path for path in others_of(job, theirs)}
    at = (*theirs.spec, "containers")
    none = (*at, len(job.items(at)))
    pairs = {path: named.get(job.text((*path, "name")), none) for path in others_of(job, mine)}
    return {**pairs, container_of(job, mine): container_of(job, theirs)}


def _compare(job: Job, mine: Pointer, theirs: Pointer, pairs: Mapping[Pointer, Pointer]) -> None:
    value = job.get(mine)
    if job.is_told(mine) or value in (None, {}, []):
        return
    if value == job.get(theirs):
        job.maps(mine, "worker 0", "as the workers'")
    elif isinstance(value, dict):
        for key in value:
            _compare(job, (*mine, key), (*theirs, key), pairs)
    elif isinstance(value, list):
        for index in range(len(value)):
            item = (*mine, index)
            _compare(job, item, pairs.get(item, (*theirs, index)), pairs)
    else:
        job.to_do(mine, "worker 0 is as all workers are, and these have another", "workers")


def _explain(job: Job, role: Role) -> None:
    """Defaults need nothing; of some fields it is known why nothing here takes them."""
    container = container_of(job, role)
    for around in (role.spec, container):
        for key in job.keys(around):
            path = (*around, key)
            if job.is_told(path):
                continue
            if key in _DEFAULTS and job.get(path) == _DEFAULTS[key]:
                job.leave_out(path, "the default")
            elif key in _WHY:
                job.to_do(path, _WHY[key], "extraValues")
