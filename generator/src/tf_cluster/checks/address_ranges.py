"""Ranges of addresses that may read the status port or a page."""

import ipaddress
from collections.abc import Iterator
from typing import Any

from tf_cluster.expand.roles import PAGES
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NO_RANGE = Code(
    "TFC349",
    "a range of addresses that Kubernetes refuses",
    why=(
        "Kubernetes refuses a range with bits beyond its length: one of the two is not what "
        "was meant."
    ),
    wrong=(
        "extraValues: {security: {networkPolicy: {statusFrom: [{ipBlock: {cidr: 10.1.0.0/8}}]}}}"
    ),
    right=(
        "extraValues: {security: {networkPolicy: {statusFrom: [{ipBlock: {cidr: 10.1.0.0/16}}]}}}"
    ),
)

_PEERS: tuple[Pointer, ...] = (
    ("security", "networkPolicy", "statusFrom"),
    *((page, "allowFrom") for page in PAGES),
)


def check(params: Params) -> Iterator[Finding]:
    """Findings on ranges that a NetworkPolicy can't have. Their form is the schema's."""
    for path in _PEERS:
        yield from _of_peers(params, path)


def _of_peers(params: Params, path: Pointer) -> Iterator[Finding]:
    for index, peer in enumerate(params.value_at(path) or ()):
        block: dict[str, Any] = peer.get("ipBlock") or {}
        if not block.get("cidr"):
            continue
        at = (*params.origin_of(path), index, "ipBlock")
        excepted = block.get("except") or []
        yield from _bits(params, (*at, "cidr"), block["cidr"])
        for number, part in enumerate(excepted):
            where = (*at, "except", number)
            yield from _bits(params, where, part)
            if not _is_part(part, block["cidr"]):
                message = f"{dotted(where)} is {part}, which is no part of {block['cidr']}"
                yield params.finding(where, NO_RANGE, message, part)


def _bits(params: Params, path: Pointer, text: str) -> Iterator[Finding]:
    whole = ipaddress.ip_network(text, strict=False)
    if ipaddress.ip_interface(text).ip != whole.network_address:
        message = f"{dotted(path)} is {text}, which has bits beyond its first {whole.prefixlen}"
        fix = f"write {whole}"
        yield params.finding(path, NO_RANGE, message, text, fix)


def _is_part(part: str, whole: str) -> bool:
    one, other = (ipaddress.ip_network(text, strict=False) for text in (part, whole))
    if one.version != other.version or one.prefixlen <= other.prefixlen:
        return False
    return one.supernet(new_prefix=other.prefixlen) == other
