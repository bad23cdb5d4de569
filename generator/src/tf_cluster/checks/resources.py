"""Requests and limits of all roles."""

from collections.abc import Iterator
from fractions import Fraction

from tf_cluster.expand.quantity import quantity
from tf_cluster.expand.roles import PODS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import WRONG_FORM
from tf_cluster.params.wording import excerpt
from tf_cluster.pointer import dotted

REQUEST_OVER_LIMIT = Code(
    "TFC305",
    "a resource request is over its limit",
    why=(
        "Kubernetes refuses a pod that asks for more than it may use. A limit that is not in "
        "the file is the preset's or the chart's."
    ),
    wrong="resources: {ps: {requests: {memory: 8Gi}, limits: {memory: 4Gi}}}",
    right="resources: {ps: {requests: {memory: 4Gi}, limits: {memory: 8Gi}}}",
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on texts that are not quantities, and on requests over their limit."""
    amounts: dict[tuple[str, str, str, str], Fraction] = {}
    for role in PODS:
        for kind in ("requests", "limits"):
            for name, amount in (params.value_at((role, "resources", kind)) or {}).items():
                path = (role, "resources", kind, name)
                try:
                    amounts[path] = quantity(str(amount))
                except (
                    ValueError
                ):  # the chart's schema, which extraValues is held to, takes any text
                    where = params.origin_of(path)
                    message = f"{dotted(where)} is {excerpt(amount)}, not a Kubernetes quantity"
                    fix = "as in 500m, 2, 512Mi or 4Gi"
                    yield params.finding(where, WRONG_FORM, message, amount, fix)
    for asked, request in amounts.items():
        role, _, kind, resource = asked
        capped = (role, "resources", "limits", resource)
        if kind != "requests" or capped not in amounts or request <= amounts[capped]:
            continue
        wanted, limit = params.value_at(asked), params.value_at(capped)
        message = f"{role}: the request of {wanted} {resource} is over the limit of {limit}"
        where = params.origin_of(asked, capped)
        limits = f"resources.{role}.limits.{resource}"
        if where[0] == "extraValues":
            limits = f"extraValues.{dotted(capped)}"
        fix = f"raise {limits} or lower the request"
        yield params.finding(where, REQUEST_OVER_LIMIT, message, wanted, fix)
