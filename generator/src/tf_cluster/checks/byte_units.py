"""Amounts of memory or disk without their unit."""

from collections.abc import Iterator

from tf_cluster.expand.quantity import MEGABYTE, is_quantity, quantity
from tf_cluster.expand.roles import POD_SECTIONS, PODS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

UNIT_MISSING = Code(
    "TFC366",
    "an amount of memory or disk without its unit",
    why="Without a unit the number is bytes. A container of 4 bytes never starts.",
    wrong="resources: {worker: {requests: {memory: 4}, limits: {memory: 8Gi}}}",
    right="resources: {worker: {requests: {memory: 4Gi}, limits: {memory: 8Gi}}}",
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on less than a megabyte: a container of 4 bytes never starts, and 4Gi was meant."""
    for path in _places():
        amount = params.value_at(path)
        if is_quantity(amount) and 0 < quantity(str(amount)) < MEGABYTE:
            where = params.origin_of(path)
            message = f"{dotted(where)} is {amount}, which is less than 1M"
            fix = "write the unit, as in 4Gi"
            if str(amount).endswith("m"):
                fix = f"m is a thousandth of a byte: write {str(amount)[:-1]}Mi"
            yield params.finding(where, UNIT_MISSING, message, amount, fix)


def _places() -> Iterator[Pointer]:
    for role in PODS:
        for kind in ("requests", "limits"):
            for name in ("memory", "ephemeral-storage"):
                yield role, "resources", kind, name
    for section in POD_SECTIONS:
        yield section, "shmSize"
        yield section, "tmpSize"
