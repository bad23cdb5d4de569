"""A plan for people, and for programs: text, JSON and a mermaid diagram."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import floor, log10
from typing import Any

from tf_cluster.planning.against import Comparison, told
from tf_cluster.planning.demand import Fit, PodGroup, plain, total
from tf_cluster.planning.log_volume import LogNeed
from tf_cluster.planning.memory import Need
from tf_cluster.planning.objects import Life
from tf_cluster.planning.plan import Plan
from tf_cluster.planning.roles import PORTS
from tf_cluster.planning.traffic import Traffic
from tf_cluster.printable import cut, printable

_MOST_TASKS = 8
"""With more tasks no TF_CONFIG is shown."""
_MOST_NAMES = 20
_NO_BATCHES = "  The size of an example is not known: batches come on top."
_LIVES: Mapping[Life, str] = {
    "attempt": "of this attempt: another attempt takes their place, uninstall removes them",
    "release": "of the release: uninstall removes them",
    "kept": "that stay: uninstall leaves them, delete them by hand",
    "test": "that only `helm test` makes",
}


def plan_text(plan: Plan) -> str:
    """The plan in sections."""
    return _lines(
        [
            *_head(plan),
            *_pods(plan),
            *_cluster(plan),
            *_volumes(plan),
            *_objects(plan),
        ]
    )


def fit_text(fit: Fit, node: str) -> str:
    """Whether the pods fit on nodes."""
    nodes = f"{fit.nodes} node{'' if fit.nodes == 1 else 's'} of {node}"
    note = "Counted are empty nodes; taints, node selectors and what other pods take are not."
    if not fit.unplaced:
        return _lines(["", f"FITS on {nodes}: {fit.used} used.", note])
    verdict = "DOES NOT FIT" if fit.certain else "DOES NOT FIT, as far as was tried,"
    found = ["", f"{verdict} on {nodes}:"]
    for one in fit.unplaced:
        which = one.title if one.count == one.of else f"{one.count} of {one.title}"
        found.append(f"  {which}: {one.why}")
    return _lines([*found, note])


def memory_text(needs: Sequence[Need], *, with_batches: bool = True) -> str:
    """What each task needs beside what it has. `with_batches`: the needs hold those of a step."""
    if not needs:
        return ""
    rows = [
        (
            need.title,
            _mebibytes(need.bytes),
            _mebibytes(need.request),
            _mebibytes(need.limit),
            need.verdict,
        )
        for need in needs
    ]
    head = ("task", "needs", "request", "limit", "")
    formulas = dict.fromkeys(f"{need.role}: {need.formula}" for need in needs)
    return _lines(
        [
            "",
            "MEMORY by the program's variables, at the peak of start, steps and saves",
            *_table(head, rows),
            *(f"  {formula}" for formula in formulas),
            *([] if with_batches else [_NO_BATCHES]),
            "  Activations of a large model and the data set's own memory come on top.",
        ]
    )


def traffic_text(moved: Traffic | None) -> str:
    """What a step moves over links, and how fast that is at best."""
    if moved is None:
        return ""
    worker = f"  worker: a step reads {_megabytes(moved.read)} and sends {_megabytes(moved.sent)}"
    lines = [worker + f": at least {_seconds(moved.worker_seconds)}"]
    for one in moved.ps:
        of = f"sends {_megabytes(one.read)} and gets {_megabytes(one.sent)}"
        lines.append(f"  {one.title}: {of} for each worker's step")
    if moved.lockstep:
        least = _seconds(moved.lockstep_seconds)
        lines.append(f"  All workers step at once: a step takes at least {least}")
    else:
        lines.append(f"  All workers together: at most {_figure(moved.most_steps)} steps/s")
    lines += _advice(moved)
    return _lines(
        [
            "",
            "LINKS of 1 Gbit/s, by the program's dense variables (what it computes comes on top)",
            *lines,
            "  The rows that a step looks up in an embedding are not in it. More: docs/scale.md",
        ]
    )


def _advice(moved: Traffic) -> list[str]:
    """What helps where workers wait for each other at the links of the ps."""
    if not moved.waits_below and not moved.waits:
        return []
    why = f"  {moved.workers} workers wait for each other"
    if moved.lockstep:
        why += f" for {_seconds(moved.waits)} of a step at least."
    else:
        why += f" if one computes for less than {_seconds(moved.waits_below)} in a step."
    number = moved.ps[-1].last + 1
    even = max(one.read for one in moved.ps) * number < 1.5 * moved.read
    more = "More ps" if even else "Smaller variables (more ps do not divide one that is whole)"
    return [why, f"  {more}, fewer workers or train.microBatches help."]


def comparison_text(comparison: Comparison, old: Plan, new: Plan) -> str:
    """What an upgrade does."""
    lines = [""]
    if comparison.restarts:
        lines.append(f"RESTARTS: attempt {old.names.attempt} → {new.names.attempt}, because of")
        lines += [f"  {told(change)}" for change in comparison.causes[:_MOST_NAMES]]
        lines += _and_more(len(comparison.causes))
        if comparison.fresh:
            lines.append(f"STARTS AFRESH: {comparison.fresh}. What the old run wrote stays.")
        else:
            lines.append(f"RESUMES: {new.run_directory} goes on from its newest checkpoint.")
            lines.append("  The old attempt trains until the new one's tasks are up.")
    else:
        lines.append(f"STAYS: attempt {new.names.attempt} trains on; no task restarts.")
    if comparison.others:
        lines.append("Changed, and no reason to restart:")
        lines += [f"  {told(change)}" for change in comparison.others[:_MOST_NAMES]]
        lines += _and_more(len(comparison.others))
    for page in comparison.pages:
        lines.append(f"{page}: its pod is made anew")
    for refused in comparison.refused:
        lines.append(f"REFUSED by Kubernetes: {refused}")
    for title, names in (
        ("Created", comparison.created),
        ("Removed", comparison.removed),
        ("Stays by name", comparison.stays),
    ):
        if names:
            lines.append(f"{title}:")
            lines += [f"  {kind} {name}" for kind, name in names[:_MOST_NAMES]]
            lines += _and_more(len(names))
    if comparison.kept:
        lines.append(f"Kept by helm, though no longer asked for: {', '.join(comparison.kept)}")
    return _lines(lines)


def plan_json(
    plan: Plan,
    fit: Fit | None = None,
    needs: Sequence[Need] = (),
    comparison: Comparison | None = None,
    moved: Traffic | None = None,
    log: LogNeed | None = None,
) -> str:
    """The plan as one JSON document."""
    release = plan.release
    document: dict[str, Any] = {
        "version": 1,
        "release": release.name,
        "namespace": release.namespace,
        "fullname": release.fullname,
        "attempt": plan.names.attempt,
        "run": {"id": release.values["run"]["id"], "directory": plan.run_directory},
        "pods": [
            {
                "role": group.role,
                "count": group.count,
                "owner": group.owner,
                "requests": _amounts(group.requests),
                "limits": _amounts(group.limits),
                "mountsClaims": bool(group.mounted),
            }
            for group in plan.pods
        ],
        "requests": _amounts(total(plan.pods)),
        "cluster": plan.cluster,
        "status": plan.status,
        "objects": [
            {
                "kind": one.kind,
                "name": one.name,
                "count": one.count,
                "component": one.component,
                "until": one.life,
                "note": one.note,
            }
            for one in plan.objects
        ],
    }
    if fit is not None:
        document["fit"] = {
            "fits": not fit.unplaced,
            "nodes": fit.nodes,
            "used": fit.used,
            "certain": fit.certain,
            "unplaced": [
                {"pods": one.title, "count": one.count, "why": one.why} for one in fit.unplaced
            ],
        }
    if log is not None:
        document["log"] = {
            "model": log.model,
            "state": log.state,
            "needs": log.bytes,
            "claim": log.claim,
            "fits": log.fits,
        }
    if needs:
        document["memory"] = [
            {
                "task": need.title,
                "needs": need.bytes,
                "request": need.request,
                "limit": need.limit,
                "fits": need.fits,
            }
            for need in needs
        ]
    if moved is not None:
        document["links"] = {
            "workerReads": moved.read,
            "workerSends": moved.sent,
            "ps": [{"task": one.title, "sends": one.read, "gets": one.sent} for one in moved.ps],
            "waitsBelowSeconds": moved.waits_below,
            "waitsSeconds": moved.waits,
        }
    if comparison is not None:
        document["against"] = {
            "restarts": comparison.restarts,
            "resumes": comparison.restarts and not comparison.fresh,
            "fresh": comparison.fresh,
            "causes": [".".join(map(str, one.path)) for one in comparison.causes],
            "others": [".".join(map(str, one.path)) for one in comparison.others],
            "created": [list(one) for one in comparison.created],
            "removed": [list(one) for one in comparison.removed],
            "kept": list(comparison.kept),
            "stays": [list(one) for one in comparison.stays],
            "refused": list(comparison.refused),
        }
    return json.dumps(document, indent=2) + "\n"


def plan_mermaid(plan: Plan) -> str:
    """The pods, who speaks to whom, and the volumes, as a flowchart of mermaid."""
    lines = ["flowchart LR"]
    for group in plan.pods:
        asks = ", ".join(f"{name} {plain(name, value)}" for name, value in group.requests.items())
        label = f"{group.title}<br/>{_label(asks)}"
        lines.append(f'  {group.role}["{label}"]')
    there = [group.role for group in plan.pods]
    driver = "chief" if "chief" in there else "worker"
    if driver == "chief" and "worker" in there:
        lines.append("  chief -->|calls| worker")
    if "ps" in there:
        lines.append("  worker -->|variables| ps")
        if driver == "chief":
            lines.append("  chief -->|checkpoints| ps")
    if "cleanup" in there:
        lines += [f"  cleanup -.->|ends| {role}" for role in ("ps", "evaluator") if role in there]
    for volume in plan.release.claims:
        claim = plan.release.claim(volume)
        lines.append(f'  {volume}[("{_label(claim)}<br/>/{volume}")]')
        for group in plan.pods:
            if volume in group.mounted:
                lines.append(f"  {group.role} --- {volume}")
    return _lines(lines)


def _head(plan: Plan) -> Iterator[str]:
    release, values = plan.release, plan.release.values
    tasks = ", ".join(f"{count} {kind}" for kind, count in plan.counts.items())
    yield f"{release.fullname}: {tasks}"
    way = ", ".join(str(values[key]) for key in ("strategy", "replication", "update"))
    yield f"release {release.name} in namespace {release.namespace}; {way}"
    yield (
        f"attempt {plan.names.attempt} of run {values['run']['id']}, in {plan.run_directory}"
        + ("" if release.interactive else f", to step {values['train']['steps']}")
    )


def _pods(plan: Plan) -> list[str]:
    names = dict.fromkeys(name for group in plan.pods for name in group.requests)
    columns = ["cpu", "memory", *(name for name in names if name not in ("cpu", "memory"))]

    def cell(group: PodGroup, name: str) -> str:
        asked, most = group.requests.get(name), group.limits.get(name)
        if asked is None:
            return "-"
        if most is None or most == asked:
            return plain(name, asked)
        return f"{plain(name, asked)} to {plain(name, most)}"

    rows = [
        (group.title, str(group.count), *(cell(group, name) for name in columns), group.owner)
        for group in plan.pods
    ]
    sums = total(plan.pods)
    pods = str(sum(group.count for group in plan.pods))
    rows.append(
        ("total", pods, *(plain(n, sums[n]) if n in sums else "-" for n in columns), "requests")
    )
    head = ("pods", "", *columns, "of")
    found = ["", "PODS: each asks for … to at most …", *_table(head, rows)]
    if plan.release.colocate and any(group.mounted for group in plan.pods):
        together = [group.title for group in plan.pods if group.mounted]
        found.append(f"  On one node, because a claim is ReadWriteOnce: {', '.join(together)}")
    return found


def _cluster(plan: Plan) -> list[str]:
    lines = ["", f"CLUSTER: TensorFlow's servers; the status port of each is {PORTS['status']}"]
    for kind in plan.cluster:
        count = plan.counts[kind]
        last = f" … {plan.address(kind, count - 1)}" if count > 1 else ""
        lines.append(f"  {kind}: {plan.address(kind, 0)}{last}")
    sizes = {kind: plan.counts[kind] for kind in plan.cluster}
    if sum(sizes.values()) <= _MOST_TASKS:
        lines.append("TF_CONFIG, as a script gets it:")
        tasks = [f"{kind}-{index}" for kind, size in sizes.items() for index in range(size)]
        lines += [f"  {task}: {plan.tf_config(task)}" for task in tasks]
    else:
        lines.append("TF_CONFIG of a task, as a script gets it: --tf-config worker-0")
    return lines


def _volumes(plan: Plan) -> list[str]:
    release = plan.release
    lines = ["", "VOLUMES"]
    for volume in ("data", "log"):
        storage = release.values["storage"][volume]
        if volume not in release.claims:
            lines.append(f"  /{volume}: an empty directory of each pod")
            continue
        path = f", its directory {storage['subPath']}" if storage.get("subPath") else ""
        if storage.get("existingClaim"):
            lines.append(f"  /{volume}: your claim {release.claim(volume)}{path}")
            continue
        modes = ", ".join(storage.get("accessModes") or [])
        said = storage.get("storageClassName")
        kind = said if isinstance(said, str) else release.section("global").get("storageClass")
        of = f"class {kind}" if kind else "no class" if said == "" else "the default class"
        claim = f"claim {release.claim(volume)}, {storage['size']}, {modes}, {of}{path}"
        lines.append(f"  /{volume}: {claim}")
    return lines


def _objects(plan: Plan) -> list[str]:
    lines = []
    for life, title in _LIVES.items():
        there = [one for one in plan.objects if one.life == life]
        if there:
            lines += ["", f"OBJECTS {title}"]
        for one in there:
            name = f"{one.name}, 0 to {one.count - 1}" if one.count > 1 else next(one.names)
            lines.append(f"  {one.kind} {name}" + (f": {one.note}" if one.note else ""))
    return lines


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    return [
        "  "
        + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (head, *rows)
    ]


def _and_more(count: int) -> list[str]:
    return [f"  … and {count - _MOST_NAMES} more"] if count > _MOST_NAMES else []


def _amounts(given: Any) -> dict[str, Any]:
    return {name: _number(value) for name, value in given.items()}


def _number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def _mebibytes(value: int | None) -> str:
    return "-" if value is None else plain("memory", Fraction(value))


def _megabytes(size: int) -> str:
    return f"{_figure(size / 1e6)} MB"


def _seconds(value: float) -> str:
    return f"{_figure(value)} s" if value >= 1 else f"{_figure(1000 * value)} ms"


def _figure(value: float) -> str:
    """Three digits that count, or all before the point."""
    if value < 0.0005:
        return "0"
    return f"{value:,.{max(0, 2 - floor(log10(value)))}f}"


def _label(text: str) -> str:
    """Text inside quotes of a diagram."""
    return cut(text, 120).replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;")


def _lines(lines: Iterable[str]) -> str:
    return "".join(f"{printable(line)}\n" for line in lines)
