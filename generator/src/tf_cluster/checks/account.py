"""The account that the chart makes for the pods: what it may be called, and what belongs to it."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

IDLE_ANNOTATIONS = Code(
    "TFC345",
    "annotations of an account that the chart does not make",
    why=(
        "The chart makes no account unless it is told to, so nothing would carry the annotations."
    ),
    wrong="serviceAccount: {annotations: {team: vision}}",
    right="serviceAccount: {create: true, annotations: {team: vision}}",
)
DEFAULT_ACCOUNT = Code(
    "TFC346",
    "an account that every namespace has already",
    why="Kubernetes makes one called default in every namespace, and Helm refuses to take it.",
    wrong="serviceAccount: {create: true, name: default}",
    right="serviceAccount: {create: true, name: trainer}",
)

_RELEASE: Pointer = ("fullnameOverride",)


def check(params: Params) -> Iterator[Finding]:
    """What the chart's guard on accounts refuses."""
    account = params.effective.get("serviceAccount") or {}
    if account.get("annotations") and not account.get("create"):
        path: Pointer = ("serviceAccount", "annotations")
        message = f"{dotted(path)} are for an account that the chart makes"
        fix = "set serviceAccount.create to true, or annotate the account yourself"
        yield params.finding(_said(params, path), IDLE_ANNOTATIONS, message, fix=fix)
    name = account.get("name") or params.effective.get("fullnameOverride")
    if account.get("create") and name == "default":
        path = ("serviceAccount", "name")
        where = _said(params, path) if account.get("name") else params.origin_of(_RELEASE)
        message = "the account to make would be called default, as the one that every namespace has"
        fix = f"set {dotted(path)} to another name, or leave serviceAccount.create out"
        yield params.finding(where, DEFAULT_ACCOUNT, message, "default", fix)


def _said(params: Params, path: Pointer) -> Pointer:
    said = params.values.origin_around(path)
    return ("extraValues", *path) if said[:1] == ("extraValues",) else path
