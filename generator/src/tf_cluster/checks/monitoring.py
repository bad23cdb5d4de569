"""A PodMonitor whose Prometheus no policy lets in."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

CLOSED_DOOR = Code("TFC362", "a PodMonitor, and nobody may read the metrics")

_ENABLED: Pointer = ("monitoring", "podMonitor", "enabled")
_POLICY: Pointer = ("security", "networkPolicy", "enabled")
_READERS: Pointer = ("security", "networkPolicy", "statusFrom")


def check(params: Params) -> Iterator[Finding]:
    """A finding if the network policy keeps Prometheus out."""
    if params.value_at(_ENABLED) is not True or params.value_at(_POLICY) is False:
        return
    if not params.value_at(_READERS):
        where = params.origin_of(_ENABLED)
        message = f"{dotted(where)} is true, but {dotted(_READERS)} lets nobody read the metrics"
        fix = "name Prometheus there, as in [{namespaceSelector: {matchLabels: {…}}}]"
        yield params.finding(where, CLOSED_DOOR, message, True, fix)
