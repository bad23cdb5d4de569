"""A PodMonitor, or annotations, whose Prometheus no policy lets in."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

CLOSED_DOOR = Code(
    "TFC362",
    "a Prometheus is to come, and nobody may read the metrics",
    why=(
        "The network policy closes the status port to all whom it does not name, so "
        "Prometheus would get nothing."
    ),
    wrong="extraValues: {monitoring: {scrapeAnnotations: true}}",
    right=(
        "extraValues:\n"
        "  monitoring: {scrapeAnnotations: true}\n"
        "  security:\n"
        "    networkPolicy:\n"
        "      statusFrom: [{namespaceSelector: {matchLabels: {name: monitoring}}}]"
    ),
)

_ASKED: tuple[Pointer, ...] = (
    ("monitoring", "podMonitor", "enabled"),
    ("monitoring", "scrapeAnnotations"),
)
_POLICY: Pointer = ("security", "networkPolicy", "enabled")
_READERS: Pointer = ("security", "networkPolicy", "statusFrom")


def check(params: Params) -> Iterator[Finding]:
    """A finding for each way to Prometheus that the network policy shuts."""
    if params.value_at(_POLICY) is False or params.value_at(_READERS):
        return
    for asked in _ASKED:
        if params.value_at(asked) is not True:
            continue
        where = params.origin_of(asked)
        message = f"{dotted(where)} is true, but {dotted(_READERS)} lets nobody read the metrics"
        fix = "name Prometheus there, as in [{namespaceSelector: {matchLabels: {…}}}]"
        yield params.finding(where, CLOSED_DOOR, message, True, fix)
