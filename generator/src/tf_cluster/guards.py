"""What the chart's guards (templates/_guards*.tpl) refuse, told where the params file says it.

What a run on this machine needs, too, is told by rules.py: the combination, momentum, null values,
the `variables` here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster import codes
from tf_cluster.expand import Values
from tf_cluster.finding import Finding
from tf_cluster.placing import finding_at, written
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.quantity import quantity
from tf_cluster.roles import has_ps
from tf_cluster.script import VARIABLES as SCRIPT_VARIABLES
from tf_cluster.yaml_in import Document

RESERVED_VARIABLES = ("TF_CONFIG", "JOB_COMPLETION_INDEX", "GRPC_FAIL_FAST")
RESERVED_VARIABLE_PREFIX = "TF_CLUSTER_"
RESERVED_LABELS = (
    *(
        f"app.kubernetes.io/{name}"
        for name in ("name", "instance", "component", "version", "managed-by")
    ),
    "helm.sh/chart",
)
RESERVED_LABEL_PREFIX = "tf-cluster.io/"
RESERVED_POD_LABELS = ("job-name", "controller-uid", "pod-template-hash")
RESERVED_POD_LABEL_PREFIX = "batch.kubernetes.io/"
DEVICES = r"/gpu(\.shared)?$|/mig-|/(i915|xe)$"
"""Resources that are counted in devices that TensorFlow computes on."""
ACCELERATORS = r"(?i)gpu|tpu|npu|/mig-|/(i915|xe)$|neuron|gaudi|ascend|/(mlu|dcu|qaic)"
"""Resources of which a task that computes on CPUs uses nothing, in whatever they are counted."""
MOST_ANNOTATIONS = 255 << 10
"""Bytes of one object's annotations; Kubernetes takes 256 KiB, Helm's own among them."""
MOST_EXACT = 2**53 - 1
"""Helm reads numbers as float64: beyond this another one may arrive than was written."""
FLOATS_FROM = 1e21
"""From here on JSON writes a float64 with an exponent: it arrives as the float that it is."""

_ROLES = ("chief", "worker", "ps", "evaluator", "cleanup")
_IDLE = {
    "worker": (
        "with parameter servers a worker computes on one",
        "ask for 1 and for more workers, or set strategy: all-reduce",
    ),
    "evaluator": ("an evaluator computes on one", "ask for 1"),
    "chief": ("it computes on CPUs and is shown no GPU", "leave it out"),
    "ps": ("it computes on CPUs and is shown no GPU", "leave it out"),
}
_CLAIM_SETTINGS = ("volumeName", "storageClassName", "annotations")


def guards(document: Document, values: Values) -> Iterator[Finding]:
    """Findings on values that `helm template` would refuse."""
    effective = values.effective
    yield from _repository(document, values, effective)
    yield from _wait(document, values, effective)
    idle = list(_gpus(document, values, effective))
    yield from idle
    told = {finding.pointer for finding in idle}
    yield from (f for f in _counted(document, values, effective) if f.pointer not in told)
    yield from _claims(document, values, effective)
    yield from _volumes(document, values, effective)
    yield from _labels(document, values, effective)
    yield from _annotations(document, values, effective)
    yield from _flags(document, values, ("flags",), effective.get("flags"))


def _repository(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    path: Pointer = ("image", "repository")
    repository = value_at(effective, path) or ""
    if ":" in repository.rpartition("/")[2]:
        message = f"image.repository is '{repository}', with a tag"
        fix = "write the whole reference as the key image"
        where = written(values, path)
        yield finding_at(document, where, codes.WRONG_FORM, message, repository, fix)


def _wait(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    paths: tuple[Pointer, Pointer] = (
        ("ps", "preStopSeconds"),
        ("ps", "terminationGracePeriodSeconds"),
    )
    wait, grace = (value_at(effective, path) for path in paths)
    if wait and grace is not None and wait >= grace:
        message = (
            f"ps.preStopSeconds is {wait}, which has to be less than "
            f"ps.terminationGracePeriodSeconds, {grace}: it is a part of it"
        )
        fix = f"set ps.terminationGracePeriodSeconds: {wait + 10} or more"
        yield finding_at(document, written(values, *paths), codes.WAIT_TOO_LONG, message, wait, fix)


def _gpus(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    used = {"chief": 0, "ps": 0, "evaluator": 1}
    if has_ps(effective) and value_at(effective, ("program", "module")):
        used["worker"] = 1
    for role, most in used.items():
        idle = re.compile(DEVICES if most else ACCELERATORS)
        asked = {
            name: (role, "resources", kind, name)
            for kind in ("requests", "limits")
            for name in value_at(effective, (role, "resources", kind)) or {}
            if idle.search(name)
        }
        for name, path in asked.items():
            amount = value_at(effective, path)
            if quantity(str(amount)) <= most:
                continue
            why, fix = _IDLE[role]
            message = f"{role} asks for {amount} {name}, but {why}"
            where = written(values, path)
            yield finding_at(document, where, codes.IDLE_GPUS, message, amount, fix)


def _counted(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    """Devices and huge pages: whole, in limits, and not requested in another number."""
    for role in _ROLES:
        amounts = {
            kind: value_at(effective, (role, "resources", kind)) or {}
            for kind in ("requests", "limits")
        }
        limits = amounts["limits"]
        for kind, name in [(kind, name) for kind, named in amounts.items() for name in named]:
            amount = amounts[kind][name]
            if "/" not in name and not name.startswith("hugepages-"):
                continue
            path = (role, "resources", kind, name)
            page = "" if "/" in name else name.removeprefix("hugepages-")
            if "/" in name and quantity(str(amount)).denominator != 1:
                why, fix = "only whole ones can be asked for", "ask for whole ones"
            elif page and (quantity(str(amount)) / quantity(page)).denominator != 1:
                why, fix = f"only whole pages of {page} can be asked for", "ask for whole pages"
            elif name not in limits:
                why, fix = f"{role}.resources.limits has none", "write it there instead"
            elif quantity(str(amount)) != quantity(str(limits[name])):
                why, fix = f"its limit is {limits[name]}", "leave the request out"
            else:
                continue
            where = written(values, path)
            message = f"{dotted(path)} is {amount}, and {why}"
            yield finding_at(document, where, codes.COUNTED_RESOURCE, message, amount, fix)


def _claims(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    for volume in ("data", "log"):
        claim: Pointer = ("storage", volume, "existingClaim")
        if not value_at(effective, claim):
            continue
        named = dotted(written(values, claim))
        for key in _CLAIM_SETTINGS:
            path: Pointer = ("storage", volume, key)
            setting = value_at(effective, path)
            if setting:
                where = values.origin(path)
                message = (
                    f"{dotted(where)} is for a claim that the chart makes, {named} names one that "
                    "exists"
                )
                fix = "keep one of them"
                yield finding_at(document, where, codes.TWO_FORMS, message, setting, fix)


def _volumes(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    for volume in ("data", "log"):
        path: Pointer = ("storage", volume, "volumeName")
        claim = value_at(effective, ("storage", volume)) or {}
        name = claim.get("volumeName")
        if name and not claim.get("existingClaim") and claim.get("storageClassName") is None:
            where = written(values, path)
            message = (
                f"{dotted(where)} is {name}, and without a class its claim asks for the cluster's "
                "default one and never binds to a volume of another"
            )
            key = "storageClassName" if where[0] == "extraValues" else "class"
            fix = f"""add {key}: "" or the volume's class"""
            yield finding_at(document, where, codes.VOLUME_WITHOUT_CLASS, message, name, fix)


def variables(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    """Findings on names in `extraEnv`: what a task is told stays as it is, on this machine, too."""
    reserved = set(RESERVED_VARIABLES)
    if value_at(effective, ("program", "script")):
        reserved |= set(SCRIPT_VARIABLES)
    for role in ("chief", "worker", "ps", "evaluator"):
        path: Pointer = (role, "extraEnv")
        seen = set()
        for i, entry in enumerate(value_at(effective, path) or []):
            name = entry["name"]
            where = (*written(values, path), i, "name")
            if name in reserved or name.startswith(RESERVED_VARIABLE_PREFIX):
                message = f"{role}.extraEnv sets {name}, which the chart or Kubernetes sets"
                fix = "take another name"
                code = codes.RESERVED_VARIABLE
                yield finding_at(document, where, code, message, name, fix)
            elif name in seen:
                message = f"{role}.extraEnv has {name} twice"
                fix = "keep one of them"
                yield finding_at(document, where, codes.VARIABLE_TWICE, message, name, fix)
            seen.add(name)


def _labels(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    pods: list[Pointer] = [(role, "podLabels") for role in _ROLES]
    for path in [("commonLabels",), *pods]:
        for label, text in (value_at(effective, path) or {}).items():
            if label in RESERVED_LABELS or label.startswith(RESERVED_LABEL_PREFIX):
                whose = "is the chart's own"
            elif path in pods and (
                label in RESERVED_POD_LABELS or label.startswith(RESERVED_POD_LABEL_PREFIX)
            ):
                whose = "Kubernetes sets"
            else:
                continue
            where = written(values, (*path, label))
            message = f"{dotted(path)} sets the label {label}, which {whose}"
            fix = "take another name"
            yield finding_at(document, where, codes.RESERVED_LABEL, message, text, fix)


def _annotations(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    pods: list[Pointer] = [(role, "podAnnotations") for role in _ROLES]
    claims: list[Pointer] = [("storage", volume, "annotations") for volume in ("data", "log")]
    for path in [("commonAnnotations",), *pods, *claims]:
        texts = value_at(effective, path) or {}
        size = sum(len(part.encode()) for pair in texts.items() for part in pair)
        if size > MOST_ANNOTATIONS:
            where = values.origin(path)
            where = where[: len(path) + 1] if where[:1] == ("extraValues",) else where
            message = f"{dotted(path)} has {size >> 10} KiB; an object takes 256 KiB of annotations"
            yield finding_at(document, where, codes.ANNOTATIONS_TOO_LARGE, message)


def _flags(document: Document, values: Values, path: Pointer, value: Any) -> Iterator[Finding]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flags(document, values, (*path, key), inner)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _flags(document, values, (*path, index), inner)
    elif (isinstance(value, int) and abs(value) > MOST_EXACT) or (
        isinstance(value, float) and MOST_EXACT < abs(value) < FLOATS_FROM
    ):
        keys = next((i for i, key in enumerate(path) if isinstance(key, int)), len(path))
        where = (*written(values, path[:keys]), *path[keys:])
        spot = dotted(where)
        if any(f.pointer == where for f in document.findings):
            return  # told when the file was read
        message = f"{spot} is {value}, and Helm keeps numbers exactly only up to {MOST_EXACT}"
        fix = "write it in quotes, as a text, or take a smaller one"
        yield finding_at(document, where, codes.TOO_LARGE_NUMBER, message, value, fix)
