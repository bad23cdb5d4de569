"""ps.preStopSeconds is part of the pod's grace period."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer

WAIT_TOO_LONG = Code(
    "TFC317",
    "a ps waits longer than its grace period",
    why=(
        "The ps would be killed while it still waits for the workers, before it can end in order."
    ),
    wrong="extraValues: {ps: {preStopSeconds: 60, terminationGracePeriodSeconds: 30}}",
    right="extraValues: {ps: {preStopSeconds: 20, terminationGracePeriodSeconds: 30}}",
)


def check(params: Params) -> Iterator[Finding]:
    """A finding if a ps would be killed while it still waits."""
    paths: tuple[Pointer, Pointer] = (
        ("ps", "preStopSeconds"),
        ("ps", "terminationGracePeriodSeconds"),
    )
    wait, grace = (params.value_at(path) for path in paths)
    if wait and grace is not None and wait >= grace:
        message = (
            f"ps.preStopSeconds is {wait}, which has to be less than "
            f"ps.terminationGracePeriodSeconds, {grace}: it is a part of it"
        )
        fix = f"set ps.terminationGracePeriodSeconds: {wait + 10} or more"
        yield params.finding(params.origin_of(*paths), WAIT_TOO_LONG, message, wait, fix)
