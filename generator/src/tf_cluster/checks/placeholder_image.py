"""An image of a registry that nobody has."""

import re
from collections.abc import Iterator

from tf_cluster.expand.roles import PODS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

PLACEHOLDER = Code(
    "TFC404",
    "an image that only stands for one (advice)",
    why=(
        "Nobody can have a registry of this name, so no cluster can pull from it. The pods would "
        "wait with ImagePullBackOff."
    ),
    wrong="image: registry.example.com/team/trainer:1.0",
    right="image: localhost/tf-cluster-trainer:0.1.0",
)

_NOBODYS = re.compile(  # by RFC 2606 and 6761
    r"(^|\.)(example(\.(com|net|org))?|invalid|test)$", re.IGNORECASE
)
_FILL_IN_FIRST = re.compile(
    r"your([-_.]|(registry|name|org|team|company|user)\b)|(changeme|placeholder|todo)$",
    re.IGNORECASE,
)
_FILL_IN = re.compile(r"your[-_]|changeme$", re.IGNORECASE)


def check(params: Params) -> Iterator[Finding]:
    """Advice on each such image; what is left out of a role's is that of all."""
    told: set[Pointer] = set()
    for section in ("", *PODS):
        path: Pointer = (section, "image") if section else ("image",)
        own = params.value_at(path) or {}
        name = "/".join(filter(None, (own.get("registry"), own.get("repository"))))
        if not _stands_for_one(name, is_host=bool(own.get("registry"))):
            continue
        where = params.origin_of((*path, "repository"), (*path, "registry"))
        if where in told:  # gpus.image is that of several roles
            continue
        told.add(where)
        message = f"{dotted(where)} is {name}: a placeholder, which no cluster can pull"
        fix = "name your own; docs/images.md says how one is built"
        yield params.finding(where, PLACEHOLDER, message, name, fix, "advice")


def _stands_for_one(name: str, *, is_host: bool) -> bool:
    """Whether nobody can have this. `is_host`: its first part was said to be a registry."""
    first, slash, rest = name.partition("/")
    host, port, _ = first.partition(":")
    # without a dot or a port it is a user of Docker Hub
    is_host = is_host or bool(slash and (port or "." in host))
    return bool(
        (is_host and _NOBODYS.search(host))
        or _FILL_IN_FIRST.match(host)
        or any(map(_FILL_IN.match, rest.split("/")))
    )
