"""Requests and limits of all roles."""

from collections.abc import Iterator
from fractions import Fraction

from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.quantity import quantity
from tf_cluster.expand.roles import PODS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import WRONG_FORM
from tf_cluster.params.values import PRESET
from tf_cluster.params.wording import excerpt
from tf_cluster.pointer import Pointer, dotted

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
        of_request, of_limit = _whose(params, asked), _whose(params, capped)
        message = (
            f"{role}: the request of {wanted} {resource}{of_request and of_request + ','} is over "
            f"the limit of {limit}{of_limit}"
        )
        where = params.origin_of(asked, capped)
        at = f"extraValues.{role}.resources" if where[0] == "extraValues" else f"resources.{role}"
        raised = f"{'add' if of_limit else 'raise'} {at}.limits.{resource}"
        lowered = f"add {at}.requests.{resource}" if of_request else "lower the request"
        fix = f"{raised} or {lowered}"
        yield params.finding(where, REQUEST_OVER_LIMIT, message, wanted, fix)


def _whose(params: Params, path: Pointer) -> str:
    """Who says an amount that the file does not; empty where the file does."""
    if params.origin_of(path) != PRESET:
        return ""
    of_preset = path in params.values.origins
    return f", {f'the preset {preset_name(params.sound)}' if of_preset else 'the chart'}'s default"
