"""Trainings as text for people, and as JSON for programs (docs/formats.md)."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from tf_cluster.cluster.doctor.finding import Finding
from tf_cluster.cluster.snapshot import Claim, Event, Pod, Training
from tf_cluster.cluster.state import Standing, State, count_tasks, devices, waits_for
from tf_cluster.cluster.submitting import Submission
from tf_cluster.printable import cut, printable
from tf_cluster.progress.document import Progress
from tf_cluster.progress.text import duration, figures, rate

NOTHING = "-"
LIST_FORMAT = "tf-cluster.io/trainings/v1"
GET_FORMAT = "tf-cluster.io/training/v1"
EVENTS_FORMAT = "tf-cluster.io/events/v1"
SUBMITTED_FORMAT = "tf-cluster.io/submitted/v1"
DELETED_FORMAT = "tf-cluster.io/deleted/v1"
_MESSAGE_LENGTH = 300


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under their names, as wide as what they hold."""
    whole = [head, *([printable(cell) or NOTHING for cell in row] for row in rows)]
    widths = [max(len(row[column]) for row in whole) for column in range(len(head))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in whole
    )
    return "".join(f"{line}\n" for line in lines)


def list_text(
    standings: Sequence[Standing], now: datetime, *, with_namespace: bool, is_wide: bool
) -> str:
    """A line for each training."""
    head = ["NAME", "STATUS", "DONE", "STEPS/S", "ETA", "TASKS", "GPUS", "AGE", "MANAGED BY"]
    if with_namespace:
        head.insert(0, "NAMESPACE")
    if is_wide:
        head += ["STEP", "LOSS", "ATTEMPT", "NODES", "WHY"]
    return table(
        head,
        (_row(one, now, with_namespace=with_namespace, is_wide=is_wide) for one in standings),
    )


def get_text(standing: Standing, now: datetime, findings: Sequence[Finding]) -> str:
    """Everything about one training, and what the doctor found in a line."""
    training, state = standing.training, standing.state
    older = training.attempts()[1:]
    progress = state.progress
    about = {
        "training": training.name,
        "namespace": training.namespace,
        "managed by": training.managed_by,
        "status": ": ".join(filter(None, (state.status, reason(state)))),
        "progress": ", ".join(figures(progress)) if progress else "",
        "metrics": ", ".join(
            f"{name} {value}" for name, value in (progress.metrics if progress else {}).items()
        ),
        "export": (progress.export or "") if progress else "",
        "attempt": training.attempt + (f" (older: {', '.join(older)})" if older else ""),
        "age": _age(_created(training), now),
        "doctor": _in_a_line(training, findings),
    }
    lines = [f"{name:12}{printable(value)}\n" for name, value in about.items() if value]
    head = ["TASK", "POD", "STATUS", "READY", "RESTARTS", "LAST END", "NODE", "AGE"]
    tasks = table(head, (_task_row(pod, now) for pod in training.pods))
    claims = table(
        ["CLAIM", "STATUS", "SIZE", "MODES", "CLASS", "VOLUME"],
        (_claim_row(claim) for claim in training.claims),
    )
    parts = ["".join(lines), tasks if training.pods else "no pods\n"]
    return "\n".join(parts + ([claims] if training.claims else []))


def _in_a_line(training: Training, findings: Sequence[Finding]) -> str:
    if not findings:
        return ""
    first = findings[0]
    more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
    told = f"{first.code}: {first.about}: {cut(first.words, _MESSAGE_LENGTH)}{more}"
    return f"{told}: tf-cluster doctor {training.name} -n {training.namespace}"


def events_text(events: Iterable[Event], now: datetime) -> str:
    """A line for each event, the oldest first."""
    return table(
        ["AGE", "TYPE", "REASON", "OBJECT", "COUNT", "MESSAGE"],
        (
            [
                _age(event.at, now),
                _type(event),
                event.reason,
                f"{event.kind.lower()}/{event.name}",
                str(event.count),
                cut(event.message, _MESSAGE_LENGTH),
            ]
            for event in events
        ),
    )


def events_json(events: Iterable[Event]) -> dict[str, Any]:
    """The events as a JSON document, the oldest first."""
    return {
        "format": EVENTS_FORMAT,
        "events": [
            {
                "namespace": event.namespace,
                "at": event.at.isoformat() if event.at else None,
                "type": _type(event),
                "reason": event.reason,
                "object": {"kind": event.kind, "name": event.name},
                "count": event.count,
                "message": event.message,
            }
            for event in events
        ],
    }


def _type(event: Event) -> str:
    return "Warning" if event.is_warning else "Normal"


def list_json(standings: Iterable[Standing]) -> dict[str, Any]:
    """The list as a JSON document."""
    return {"format": LIST_FORMAT, "trainings": [training_json(one) for one in standings]}


def get_json(standing: Standing, findings: Iterable[Finding]) -> dict[str, Any]:
    """Everything about one training as a JSON document."""
    training, progress = standing.training, standing.state.progress
    return {
        "format": GET_FORMAT,
        **training_json(standing),
        "attempts": training.attempts(),
        "metrics": dict(progress.metrics) if progress else {},
        "export": progress.export if progress else None,
        "workers": dict(progress.workers) if progress else {},
        "pods": [_pod_json(pod) for pod in training.pods],
        "claims": [
            {
                "name": claim.name,
                "status": claim.phase,
                "size": claim.size,
                "accessModes": list(claim.modes),
                "storageClass": claim.storage_class,
            }
            for claim in training.claims
        ],
        "findings": [
            {"code": one.code, "about": one.about, "words": one.words} for one in findings
        ],
    }


def training_json(standing: Standing) -> dict[str, Any]:
    """A row of the list."""
    training, state = standing.training, standing.state
    progress = state.progress
    ready, tasks = count_tasks(training)
    created = _created(training)
    return {
        "namespace": training.namespace,
        "name": training.name,
        "status": state.status,
        "why": state.why,
        "percent": progress.percent if progress else None,
        "step": progress.step if progress else None,
        "total": progress.total if progress else None,
        "stepsPerSecond": progress.steps_per_second if progress else None,
        "etaSeconds": progress.eta_seconds if progress else None,
        "loss": progress.loss if progress else None,
        "tasks": {"ready": ready, "total": tasks},
        "devices": devices(training),
        "attempt": training.attempt,
        "created": created.isoformat() if created else None,
        "managedBy": training.managed_by,
    }


def submitted_json(submissions: Iterable[Submission]) -> dict[str, Any]:
    """What became of trainings that were to be submitted, as a JSON document."""
    return {
        "format": SUBMITTED_FORMAT,
        "trainings": [
            {
                "file": one.file,
                "namespace": one.namespace,
                "name": one.name,
                "attempt": one.attempt,
                "outcome": one.outcome.value,
                "pods": {"made": one.made.there, "wanted": one.made.of} if one.made else None,
                "heldBack": one.made.held_back if one.made else None,
                "why": one.why,
            }
            for one in submissions
        ],
    }


def deleted_json(training: Training, deleted: Sequence[Claim]) -> dict[str, Any]:
    """What went with a training and what stays, as a JSON document."""
    gone = [claim.name for claim in deleted]
    return {
        "format": DELETED_FORMAT,
        "namespace": training.namespace,
        "name": training.name,
        "claims": {
            "deleted": gone,
            "kept": [claim.name for claim in training.claims if claim.name not in gone],
        },
    }


def _row(standing: Standing, now: datetime, *, with_namespace: bool, is_wide: bool) -> list[str]:
    training, state = standing.training, standing.state
    progress = None if state.status == "pending" else state.progress
    ready, tasks = count_tasks(training)
    row = [
        training.name,
        state.status,
        "" if progress is None or progress.percent is None else f"{progress.percent:.1f}%",
        _rate(progress),
        _eta(standing),
        f"{ready}/{tasks}",
        str(sum(devices(training).values()) or ""),
        _age(_created(training), now),
        training.managed_by,
    ]
    if with_namespace:
        row.insert(0, training.namespace)
    if is_wide:
        nodes = {pod.node for pod in training.pods if pod.node and not pod.has_ended}
        row += [
            ""
            if progress is None or progress.step is None
            else f"{progress.step}/{progress.total}",
            _figure(progress.loss if progress else None, "{:.3g}"),
            training.attempt,
            str(len(nodes) or ""),
            cut(reason(state), _MESSAGE_LENGTH),
        ]
    return row


def _eta(standing: Standing) -> str:
    state = standing.state
    if state.has_ended or state.progress is None or state.progress.eta_seconds is None:
        return ""
    return duration(state.progress.eta_seconds)


def _rate(progress: Progress | None) -> str:
    known = progress.steps_per_second if progress else None
    return "" if known is None else rate(known)


def _figure(value: float | None, form: str) -> str:
    return "" if value is None else form.format(value)


def _task_row(pod: Pod, now: datetime) -> list[str]:
    main = pod.main
    last = main.last_end if main else None
    ended = f"{last.exit_code} {last.reason}".replace(" Completed", "") if last else ""
    ended = ended.removesuffix(" Error")
    restarts = main.restarts if main else 0
    return [
        pod.task,
        pod.name,
        pod_status(pod),
        "yes" if pod.is_ready else "no",
        str(restarts),
        ended,
        pod.node,
        _age(pod.created, now),
    ]


def pod_status(pod: Pod) -> str:
    """`Running`, or the word that says most: `ImagePullBackOff`, `Terminating`, `Evicted`."""
    if pod.deleted:
        return "Terminating"
    waiting = waits_for(pod) if pod.phase == "Pending" else ""
    named = next((one.waits_for for one in pod.containers if one.waits_for), "")
    if waiting.startswith("Unschedulable"):
        return "Unschedulable"
    return pod.reason or named or pod.phase


def _pod_json(pod: Pod) -> dict[str, Any]:
    main = pod.main
    last = main.last_end if main else None
    return {
        "name": pod.name,
        "task": pod.task,
        "attempt": pod.attempt,
        "status": pod_status(pod),
        "ready": pod.is_ready,
        "node": pod.node,
        "restarts": main.restarts if main else 0,
        "lastExitCode": last.exit_code if last else None,
        "lastReason": last.reason if last else None,
        "created": pod.created.isoformat() if pod.created else None,
    }


def _claim_row(claim: Claim) -> list[str]:
    return [
        claim.name,
        claim.phase,
        claim.size,
        ",".join(claim.modes),
        claim.storage_class,
        claim.volume,
    ]


def _created(training: Training) -> datetime | None:
    client = training.client()
    if client:
        return client.created
    return min((one.created for one in training.deployments if one.created), default=None)


def _age(since: datetime | None, now: datetime) -> str:
    return "" if since is None else span((now - since).total_seconds())


def span(length: float) -> str:
    """Seconds as `45s`, `12m`, `5h`, `3d`; no less than none."""
    seconds = max(round(length), 0)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def state_line(state: State) -> str:
    """`running, 60.0%, step 1200 of 2000, 412 steps/s`."""
    return ", ".join((state.status, *(figures(state.progress) if state.progress else ())))


def reason(state: State) -> str:
    """Why it has its status, without the status."""
    return state.why.removeprefix(state.status).removeprefix(":").strip()
