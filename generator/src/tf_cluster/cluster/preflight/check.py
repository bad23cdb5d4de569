"""All of preflight: what is looked at, and in which order it is told."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.connection import Connection, ForbiddenError
from tf_cluster.cluster.preflight.answer import Answer, Check, Verdict, When, cant_say, fits
from tf_cluster.cluster.preflight.limits import limit_ranges, with_defaults
from tf_cluster.cluster.preflight.look import (
    Cluster,
    metadata,
    runtime_class,
)
from tf_cluster.cluster.preflight.nodes import nodes
from tf_cluster.cluster.preflight.quotas import quotas
from tf_cluster.cluster.preflight.references import (
    NAMES,
    apis,
    classes,
    named_objects,
    names,
    priority,
)
from tf_cluster.cluster.preflight.rooms import has_ended
from tf_cluster.cluster.preflight.storage import Storage, claim_names, storage
from tf_cluster.cluster.preflight.terms import Json
from tf_cluster.cluster.preflight.wanted import Wanted, of_template
from tf_cluster.planning.demand import PodGroup
from tf_cluster.planning.plan import Plan

Data = dict[str, Any]


def preflight(connection: Connection, cluster: Cluster, plan: Plan) -> Answer:
    """Whether a training would fit in the connection's namespace now. Raises ClusterError.

    `cluster` is what was seen a moment ago; what pods name is asked for one by one.
    """
    name = plan.release.name
    if {"jobs", "deployments"} & cluster.unread:
        words = "not allowed: list jobs, list deployments: is it installed already?"
        return Answer(name, connection.namespace, (cant_say(NAMES, words),))
    if _is_installed(cluster, plan):
        words = f"attempt {plan.names.attempt} is installed already: it makes no pod"
        return Answer(name, connection.namespace, (fits(NAMES, words),))
    return Answer(name, connection.namespace, tuple(_checks(connection, cluster, plan)))


def _checks(connection: Connection, cluster: Cluster, plan: Plan) -> list[Check]:
    runtimes = _runtimes(connection, plan)
    templates = {group.role: _admitted(cluster, group.template, runtimes) for group in plan.pods}
    titles = {group.title: templates[group.role] for group in plan.pods}
    mounts: Counter[str] = Counter()
    for group in plan.pods:
        for claim in set(claim_names(templates[group.role]["spec"])):
            mounts[claim] += group.count
    claims = storage(cluster, plan.release, dict(mounts))
    pods = [
        replace(
            of_template(group.title, group.count, cluster.namespace, templates[group.role]),
            own=True,
            served=_served(plan, group),
            early=group.role != "worker",
            first_apart=group.role == "worker" == plan.release.client,
            places=tuple(
                place
                for claim in claim_names(templates[group.role]["spec"])
                for place in claims.places.get(claim, ())
            ),
        )
        for group in plan.pods
    ]

    def of(kind: str, object_name: str) -> Json | None:
        return metadata(connection, kind, object_name)

    return [
        names(cluster, plan, of),
        apis(cluster, plan),
        limit_ranges(cluster, titles, claims.made),
        _quotas(cluster, plan, pods, claims),
        *claims.checks,
        named_objects(plan, pods, of),
        classes(cluster, pods, runtimes),
        _nodes(cluster, plan, pods),
    ]


def _is_installed(cluster: Cluster, plan: Plan) -> bool:
    """Whether every Job and Deployment of the plan is there, by this release."""
    mine = {
        (kind, one["metadata"]["name"])
        for kind, objects in (("Job", cluster.jobs), ("Deployment", cluster.deployments))
        for one in objects
        if _instance(one) == plan.release.name
    }
    wanted = {
        (one.kind, name)
        for one in plan.objects
        if one.kind in ("Job", "Deployment") and one.life != "test"
        for name in one.names
    }
    return wanted <= mine


def _instance(thing: Json) -> str:
    return str((thing["metadata"].get("labels") or {}).get(labels.INSTANCE) or "")


def _nodes(cluster: Cluster, plan: Plan, pods: list[Wanted]) -> Check:
    """The check of nodes. The pods of an older attempt make room, once they have ended."""
    most = priority(cluster, pods)
    found = nodes(cluster, pods, most)
    if found.verdict is Verdict.FITS or found.when is When.NEVER:
        return found
    if plan.release.section("scheduling").get("queue"):
        return cant_say(found.subject, f"its queue holds it until there is room: {found.message}")
    old = {id(pod) for pod in _older(cluster, plan)}
    if not old:
        return found
    rest = tuple(pod for pod in cluster.pods if id(pod) not in old)
    without = nodes(replace(cluster, pods=rest), pods, most)
    if without.verdict is Verdict.DOES_NOT_FIT:
        return found
    words = f"only when the {len(old)} pods of the release that are there end: {found.message}"
    return cant_say(found.subject, words)


def _older(cluster: Cluster, plan: Plan) -> list[Json]:
    """The pods of this release that those of the plan take the place of."""
    return [pod for pod in cluster.pods if _is_older(pod, cluster.namespace, plan)]


def _is_older(pod: Json, namespace: str, plan: Plan) -> bool:
    marks = pod["metadata"].get("labels") or {}
    return (
        pod["metadata"]["namespace"] == namespace
        and marks.get(labels.INSTANCE) == plan.release.name
        and marks.get(labels.NAME) == plan.release.identity[labels.NAME]
        and marks.get(labels.ATTEMPT) != plan.names.attempt
        and not has_ended(pod)
    )


def _quotas(cluster: Cluster, plan: Plan, pods: list[Wanted], claims: Storage) -> Check:
    if "resourcequotas" in cluster.unread:
        return cant_say("quotas", "not allowed: list resourcequotas")
    release = plan.release
    there = {one["metadata"]["name"] for one in cluster.deployments}
    is_upgrade = any(
        _instance(one) == release.name for one in (*cluster.deployments, *cluster.jobs)
    )
    kinds: Counter[str] = Counter({"Secret": 1, "PersistentVolumeClaim": len(claims.new)})
    for one in plan.objects:
        is_new = one.life == "attempt" or (one.life == "release" and not is_upgrade)
        if is_new and one.kind != "PersistentVolumeClaim":
            kinds[one.kind] += sum(name not in there for name in one.names)
    services = [
        str((release.section(role.name).get("service") or {}).get("type") or "ClusterIP")
        for role in release.pages
        if release.page(role) not in there
    ]
    # The Deployment of a page that is there makes no second pod.
    kept = {role.name for role in release.pages if release.page(role) in there}
    new = [one for one in pods if one.title not in kept]
    found = quotas(cluster, new, kinds, services, claims.new)
    old = _older(cluster, plan)
    if found.verdict is not Verdict.DOES_NOT_FIT or not old:
        return found
    going = [of_template("", 1, cluster.namespace, pod) for pod in old]
    if quotas(cluster, new, kinds, services, claims.new, going).verdict is Verdict.DOES_NOT_FIT:
        return found
    words = f"only when the {len(old)} pods of the release that are there end: {found.message}"
    return cant_say(found.subject, words)


def _served(plan: Plan, group: PodGroup) -> dict[str, str]:
    """The labels of the attempt's Service. Pods with a Service or ReplicaSet of their own: none."""
    marks = (group.template.get("metadata") or {}).get("labels") or {}
    alone = not group.owner.startswith("Job") or group.role == "chief"
    if alone or labels.ATTEMPT not in marks:
        return {}
    return {key: marks[key] for key in (labels.INSTANCE, labels.ATTEMPT)}


def _runtimes(connection: Connection, plan: Plan) -> dict[str, Json | None]:
    asked = {group.template["spec"].get("runtimeClassName") for group in plan.pods} - {None, ""}
    found: dict[str, Json | None] = {}
    for name in sorted(asked):
        try:
            found[name] = runtime_class(connection, name)
        except ForbiddenError:
            found[name] = {}
    return found


def _admitted(cluster: Cluster, template: Json, runtimes: Mapping[str, Json | None]) -> Data:
    """A template with what admission adds: defaults, the overhead and nodes of a runtime class."""
    made = with_defaults(template, cluster.limitranges)
    spec = made["spec"]
    runtime = runtimes.get(spec.get("runtimeClassName") or "") or {}
    overhead = (runtime.get("overhead") or {}).get("podFixed")
    if overhead:
        spec["overhead"] = overhead
    scheduling = runtime.get("scheduling") or {}
    if scheduling.get("nodeSelector"):
        spec["nodeSelector"] = {**scheduling["nodeSelector"], **(spec.get("nodeSelector") or {})}
    if scheduling.get("tolerations"):
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *scheduling["tolerations"]]
    of_class = next(
        (
            one
            for one in cluster.priorityclasses
            if one["metadata"]["name"] == spec.get("priorityClassName")
        ),
        {},
    )
    if of_class.get("preemptionPolicy"):
        spec["preemptionPolicy"] = of_class["preemptionPolicy"]
    return made
