"""Tasks that everybody in the cluster may reach."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

OPEN_NETWORK = Code(
    "TFC409",
    "no network policy before ports that execute what they are sent (advice)",
    why=(
        "TensorFlow's servers know no login. Without the policies every pod of the cluster can "
        "run code in the tasks."
    ),
    wrong="extraValues: {security: {networkPolicy: {enabled: false}}}",
    right="extraValues: {security: {networkPolicy: {enabled: true}}}",
)

_ENABLED: Pointer = ("security", "networkPolicy", "enabled")


def check(params: Params) -> Iterator[Finding]:
    """Advice if the policies are switched off."""
    if params.value_at(_ENABLED) is False:
        where = params.origin_of(_ENABLED)
        message = (
            f"{dotted(where)} is false: TensorFlow executes what it is sent, and every pod of the "
            "cluster can reach its port"
        )
        fix = "leave it out; docs/security.md says what the policies let through"
        yield params.finding(where, OPEN_NETWORK, message, False, fix, "advice")
