"""What the chart's guards (templates/_guards.tpl) refuse, told where the params file says it.

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
_GPU = re.compile(r"/gpu(\.shared)?$|/mig-")
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
    yield from _gpus(document, values, effective)
    yield from _claims(document, values, effective)
    yield from _labels(document, values, effective)


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
    strategy = value_at(effective, ("strategy",))
    if strategy == "parameter-server" and value_at(effective, ("program", "module")):
        used["worker"] = 1
    for role, most in used.items():
        asked = {
            name: (role, "resources", kind, name)
            for kind in ("requests", "limits")
            for name in value_at(effective, (role, "resources", kind)) or {}
            if _GPU.search(name)
        }
        for name, path in asked.items():
            amount = value_at(effective, path)
            if not str(amount).isdecimal() or int(amount) <= most:
                continue
            why, fix = _IDLE[role]
            message = f"{role} asks for {amount} {name}, but {why}"
            where = written(values, path)
            yield finding_at(document, where, codes.IDLE_GPUS, message, amount, fix)


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
    roles = ("chief", "worker", "ps", "evaluator", "cleanup")
    pods: list[Pointer] = [(role, "podLabels") for role in roles]
    for path in [("commonLabels",), *pods]:
        for label, text in (value_at(effective, path) or {}).items():
            if label in RESERVED_LABELS or label.startswith(RESERVED_LABEL_PREFIX):
                where = written(values, (*path, label))
                message = f"{dotted(path)} sets the label {label}, which is the chart's own"
                fix = "take another name"
                yield finding_at(document, where, codes.RESERVED_LABEL, message, text, fix)
