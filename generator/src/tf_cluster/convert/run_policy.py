"""The TFJob itself: its name, its labels, and how its run is ended and cleaned up."""

from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job, shown
from tf_cluster.convert.manifest import name_of
from tf_cluster.convert.roles import Plan, Role
from tf_cluster.params.names import NAME_LIMIT
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

_OF_THE_CLUSTER = (
    *("creationTimestamp", "generation", "resourceVersion", "uid", "selfLink", "managedFields"),
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_RESTARTS = {
    "Always": "a task that fails is tried again, as often as {}.backoffLimit says",
    "OnFailure": "a task that fails is tried again, as often as {}.backoffLimit says",
    "ExitCode": "a task that fails is tried again, as often as {}.backoffLimit says, but not after "
    "exit 2",
}
_SCHEDULING = {
    "minAvailable": "scheduling.gang.minMember says it, with provider: coscheduling or volcano",
    "queue": "scheduling.gang.queue says it, with provider: volcano",
    "scheduleTimeoutSeconds": "scheduling.gang.timeoutSeconds says it, with provider: coscheduling",
    "priorityClass": "priority says it",
}
"""What says here what a schedulingPolicy says."""


def put_name(job: Job, draft: Draft) -> None:
    """The name, labels and annotations; what the cluster wrote into the object is left out."""
    written = name_of(job)
    name = usable_name(written)
    key = "name" if job.text(("metadata", "name")) else "generateName"
    source: Pointer = ("metadata", key)
    draft.put(("name",), name, source)
    if job.get(source) is not None:
        job.maps(source, "name", "" if name == written else name)
    if name != written:
        why = f"{cut(written) or 'no name'} is no name here: is {name} a good one?"
        job.remark(source if written else ("metadata",), why, "name")
    if key == "name":
        job.cover(("metadata", "generateName"))
    if job.text(("metadata", "namespace")):
        namespace = job.text(("metadata", "namespace"))
        job.leave_out(("metadata", "namespace"), f"helm takes it, as -n {namespace}")
    for word, value in (("labels", "commonLabels"), ("annotations", "commonAnnotations")):
        for one in job.keys(("metadata", word)):
            path = ("metadata", word, one)
            if one == _APPLIED:
                job.leave_out(path, "kubectl's own")
            elif one.startswith("kueue.x-k8s.io/"):
                why = "Kueue takes each Job by itself: objectLabels of the roles (docs/values.md)"
                job.to_do(path, f"{cut(shown(job.get(path)))}: {why}", "extraValues")
            elif isinstance(job.get(path), str):
                draft.put(("extraValues", value, one), job.get(path), path)
                job.maps(path, f"extraValues.{value}")
    for one in job.keys(("metadata",)):
        if one in _OF_THE_CLUSTER:
            job.leave_out(("metadata", one), "the cluster's own")
    if job.get(("status",)) is not None:
        job.leave_out(("status",), "the cluster's own")
    for one in ("kind", "apiVersion"):
        job.cover((one,))


def usable_name(text: str) -> str:
    """The text as a name, cut and with `-` for what names can't have."""
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in text.lower())
    return letters.lstrip("-0123456789")[:NAME_LIMIT].rstrip("-") or "training"


def put_policy(job: Job, plan: Plan, draft: Draft) -> None:
    """How often a task is tried again, how long the run may take, what is left of it."""
    # The first versions have these fields in the spec itself.
    for around in (("spec", "runPolicy"), ("spec",)):
        _put_policy(job, around, plan, draft)
    for role in (*plan.roles, plan.joined):
        path = (*role.path, "restartPolicy") if role else ()
        if role and job.get(path) is not None:
            words = _RESTARTS.get(job.text(path))
            target = "worker" if role is plan.joined else role.target
            if role.target == "ps" and (words or job.text(path) == "Never"):
                job.leave_out(path, "a ps is always started again")
            elif job.text(path) == "Never":
                _put_never(job, path, role, draft, joined=role is plan.joined)
            elif words:
                job.leave_out(path, words.format(f"extraValues.{target}"))
            else:
                job.to_do(path, f"{cut(job.text(path))} is no restart policy", "extraValues")
    for role in (*plan.roles, plan.joined):
        if role and not job.is_told((*role.path, "replicas")):
            key = {"chief": "replication", "worker": "workers"}.get(role.target, "ps")
            job.maps((*role.path, "replicas"), "workers" if role is plan.joined else key)


def _put_never(job: Job, path: Pointer, role: Role, draft: Draft, *, joined: bool) -> None:
    """A task that fails is not tried again; where the run's policy says how often, that stands.

    `joined`: the role becomes worker 0, which is as all workers are.
    """
    key = ("extraValues", "worker" if joined else role.target, "backoffLimit")
    limit = draft.get(key)
    if limit is None and not joined:
        limit = 0
        draft.put(key, limit, path)
    if limit != 0:
        said = "not there" if limit is None else f"{limit}"
        why = f"Never: {dotted(key)} is {said}; 0 tries no failed task again"
        job.to_do(path, why, "extraValues")
    else:
        job.maps(path, dotted(key), "0")


def _put_policy(job: Job, around: Pointer, plan: Plan, draft: Draft) -> None:
    path = (*around, "cleanPodPolicy")
    if job.get(path) is not None:
        why = "tasks end by themselves, and cleanup ends the ps; helm uninstall removes their pods"
        job.leave_out(path, why)
    path = (*around, "activeDeadlineSeconds")
    if isinstance(job.get(path), int):
        draft.put(("run", "deadlineSeconds"), job.get(path), path)
        job.maps(path, "run.deadlineSeconds")
    path = (*around, "backoffLimit")
    if type(job.get(path)) is int:
        for target in ("chief", "worker"):
            if plan.of(target):
                key = ("extraValues", target, "backoffLimit")
                draft.put(key, job.get(path), path)
        job.maps(path, "extraValues.worker.backoffLimit")
    path = (*around, "ttlSecondsAfterFinished")
    if job.get(path) is not None:
        job.to_do(
            path, f"{cut(shown(job.get(path)))}: a release stays until helm uninstall", "name"
        )
    path = (*around, "suspend")
    if job.get(path) is False:
        job.leave_out(path, "the default")
    elif job.get(path) is not None:
        job.to_do(path, "a release trains as soon as it is installed", "name")
    path = (*around, "schedulingPolicy")
    if job.keys(path):
        for one in job.keys(path):
            why = _SCHEDULING.get(one, "pods are scheduled one by one")
            words = f"{cut(shown(job.get((*path, one))))}: {why}"
            job.to_do((*path, one), words, "extraValues")
    path = (*around, "successPolicy")
    if job.get(path) == "":
        job.leave_out(path, "the default")
    elif job.get(path) is not None:
        why = "a script's training is done when its chief, or worker 0, has ended"
        job.to_do(path, f"{cut(shown(job.get(path)))}: {why}", "program")
    path = (*around, "enableDynamicWorker")
    if job.get(path) is False:
        job.leave_out(path, "the default")
    elif job.get(path) is not None:
        job.to_do(path, "another number of workers is a new attempt, which resumes", "workers")
