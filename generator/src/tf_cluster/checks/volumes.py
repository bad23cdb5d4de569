"""PersistentVolumes that are named."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

VOLUME_WITHOUT_CLASS = Code("TFC342", "a PersistentVolume without the class of its claim")
ONE_VOLUME_TWICE = Code("TFC332", "one PersistentVolume for two claims")


def check(params: Params) -> Iterator[Finding]:
    """Findings on claims that would never be bound."""
    yield from _one_twice(params)
    yield from _without_class(params)


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
        path: Pointer = ("storage", volume, "volumeName")
        claim = params.value_at(("storage", volume)) or {}
        name = claim.get("volumeName")
        if name and not claim.get("existingClaim") and claim.get("storageClassName") is None:
            where = params.origin_of(path)
            message = (
                f"{dotted(where)} is {name}, and without a class its claim asks for the cluster's "
                "default one and never binds to a volume of another"
            )
            key = "storageClassName" if where[0] == "extraValues" else "class"
            fix = f"""add {key}: "" or the volume's class"""
            yield params.finding(where, VOLUME_WITHOUT_CLASS, message, name, fix)
