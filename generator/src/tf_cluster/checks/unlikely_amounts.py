"""Amounts that are likely meant in another unit."""

from collections.abc import Iterator
from math import ceil

from tf_cluster.expand.quantity import MEGABYTE, is_quantity, quantity
from tf_cluster.expand.roles import PODS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.values import PRESET
from tf_cluster.pointer import dotted
from tf_cluster.printable import cut

OTHER_UNIT = Code(
    "TFC401",
    "an amount that is likely meant in another unit (advice)",
    why=(
        "No node has 500 CPUs for one task, which then waits for one for ever. Half a CPU is 500m."
    ),
    wrong="resources: {worker: {requests: {cpu: 500}}}",
    right="resources: {worker: {requests: {cpu: 500m}}}",
)

_MOST_CPUS = 250
"""Few machines have as many CPUs, and 250, 500 and 1000 are what people ask for in thousandths."""


def check(params: Params) -> Iterator[Finding]:
    """Advice on CPUs by the hundreds, and on memory in thousandths of a byte."""
    for role in PODS:
        for kind in ("requests", "limits"):
            for name in ("cpu", "memory", "ephemeral-storage"):
                path = (role, "resources", kind, name)
                where, amount = params.origin_of(path), str(params.value_at(path) or "")
                if where == PRESET or not is_quantity(amount):
                    continue
                if name == "cpu" and quantity(amount) >= _MOST_CPUS:
                    message = f"{dotted(where)} is {cut(amount)}: so many whole CPUs for one task"
                    is_mega = amount.endswith("M")  # typed for m
                    number = amount[:-1] if is_mega else str(ceil(quantity(amount)))
                    fix = f"write {cut(number)}m for thousandths of a CPU"
                elif name != "cpu" and amount.endswith("m") and quantity(amount) >= MEGABYTE:
                    message = f"{dotted(where)} is {cut(amount)}, which are thousandths of a byte"
                    fix = "write the unit that is meant, as in 4Gi"
                else:
                    continue
                yield params.finding(where, OTHER_UNIT, message, amount, fix, "advice")
