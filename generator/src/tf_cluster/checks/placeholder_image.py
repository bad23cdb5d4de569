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

_NOBODYS = re.compile(
    r"(^|\.)(example(\.(com|net|org))?|invalid|test)$"  # by RFC 2606 and 6761
    r"|^your([-_.]|(registry|name|org|team|company|user)\b)|^(changeme|placeholder|todo)$",
    re.IGNORECASE,
)


def check(params: Params) -> Iterator[Finding]:
    """Advice on each such image; what is left out of a role's is that of all."""
    told: set[Pointer] = set()
    for section in ("", *PODS):
        path: Pointer = (section, "image") if section else ("image",)
        own = params.value_at(path) or {}
        name = "/".join(filter(None, (own.get("registry"), own.get("repository"))))
        host, _, rest = name.partition("/")
        host = host.partition(":")[0]
        if not _NOBODYS.search(host) and not any(
            re.match("your[-_]", part, re.IGNORECASE) for part in rest.split("/")
        ):
            continue
        where = params.origin_of((*path, "repository"), (*path, "registry"))
        if where in told:  # gpus.image is that of several roles
            continue
        told.add(where)
        message = f"{dotted(where)} is {name}: a placeholder, which no cluster can pull"
        fix = "name your own; docs/images.md says how one is built"
        yield params.finding(where, PLACEHOLDER, message, name, fix, "advice")
