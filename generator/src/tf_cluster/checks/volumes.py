"""Claims that would never be bound, or not be mounted by all pods."""

from collections.abc import Iterator

from tf_cluster.expand.placement import is_of_one_node
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.wording import excerpt
from tf_cluster.pointer import Pointer, dotted

VOLUME_WITHOUT_CLASS = Code(
    "TFC342",
    "a PersistentVolume without the class of its claim",
    why=(
        "Without a class the claim asks for the cluster's default one, and never binds to a "
        "volume of another."
    ),
    wrong="data: {volume: pv-digits}",
    right="data: {volume: pv-digits, class: ''}",
)
ONE_NODE = Code(
    "TFC344",
    "claims that one node can mount, and pods on several",
    why="One node mounts such a claim. Pods on other nodes would wait for it for ever.",
    wrong="extraValues: {storage: {colocate: false}}",
    right=(
        "data: {accessModes: [ReadWriteMany]}\n"
        "log: {accessModes: [ReadWriteMany]}\n"
        "extraValues: {storage: {colocate: false}}"
    ),
)
ONE_VOLUME_TWICE = Code(
    "TFC332",
    "one PersistentVolume for two claims",
    why=(
        "A PersistentVolume is bound by one claim. The other one would stay pending, and so "
        "would the pods."
    ),
    wrong=("data: {volume: pv-digits, class: ''}\nlog: {volume: pv-digits, class: ''}"),
    right=("data: {volume: pv-digits, class: ''}\nlog: {volume: pv-runs, class: ''}"),
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on such claims."""
    yield from _one_twice(params)
    yield from _without_class(params)
    yield from _of_one_node(params)


def _one_twice(params: Params) -> Iterator[Finding]:
    paths: tuple[Pointer, Pointer] = (
        ("storage", "log", "volumeName"),
        ("storage", "data", "volumeName"),
    )
    one, other = (params.value_at(path) for path in paths)
    if one and one == other:
        places = [dotted(params.origin_of(path)) for path in paths]
        message = f"{places[0]} and {places[1]} are both {one}, and a volume is bound to one claim"
        fix = "name two volumes"
        where = params.origin_of(*paths)
        yield params.finding(where, ONE_VOLUME_TWICE, message, one, fix)


def _without_class(params: Params) -> Iterator[Finding]:
    for volume in ("data", "log"):
        claim = params.value_at(("storage", volume)) or {}
        if claim.get("existingClaim") or claim.get("enabled") is False:
            continue
        shared = params.value_at(("global", "storageClass"))
        if claim.get("storageClassName") is not None or shared:
            continue
        for wanted in ("volumeName", "selector"):
            setting = claim.get(wanted)
            if setting:
                where = params.values.origin_around(("storage", volume, wanted))
                message = (
                    f"{dotted(where)} is {excerpt(setting)}, and without a class its claim asks "
                    "for the cluster's default one and never binds to a volume of another"
                )
                key = "storageClassName" if where[0] == "extraValues" else "class"
                fix = f"""add {key}: "" or the volume's class"""
                yield params.finding(where, VOLUME_WITHOUT_CLASS, message, setting, fix)


def _of_one_node(params: Params) -> Iterator[Finding]:
    path: Pointer = ("storage", "colocate")
    if params.value_at(path) is not False:
        return
    for volume in ("data", "log"):
        claim = params.value_at(("storage", volume)) or {}
        if is_of_one_node(claim):
            modes = ", ".join(claim["accessModes"])
            where = params.values.origin_around(path)
            message = (
                f"{dotted(where)} is false, but the claim at /{volume} is [{modes}], "
                "which one node can mount"
            )
            fix = f"add {volume}.accessModes: [ReadWriteMany], or leave colocate out"
            yield params.finding(where, ONE_NODE, message, False, fix)
            return
