"""Keys whose values are more than another name of one value of the chart."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from tf_cluster.expand.image import DEFAULT_TAG, Image, parse_image
from tf_cluster.expand.roles import PAGES
from tf_cluster.pointer import Pointer

DEFAULT_VENDOR = "nvidia.com/gpu"
GPU_ROLES = ("worker", "evaluator")
"""The roles that compute on GPUs where they have some (roles.py)."""
_NOTEBOOK_SUFFIX = "-notebook"
"""What the chart adds to the tag of the trainer image, for the notebook's."""


INTENTS: Mapping[Pointer, tuple[Pointer, ...]] = {
    **{(role,): ((role, "enabled"),) for role in ("evaluator", *PAGES)},
    ("image",): tuple(("image", part) for part in Image._fields),
    ("gpus",): (("worker", "resources", "limits", DEFAULT_VENDOR),),
    **{("gpus", role): ((role, "resources", "limits", DEFAULT_VENDOR),) for role in GPU_ROLES},
    ("gpus", "image"): tuple((role, "image") for role in GPU_ROLES),
    ("serviceAccount",): (("serviceAccount", "name"),),
    **{
        ("serviceAccount", key): (("serviceAccount", key),)
        for key in ("create", "name", "annotations")
    },
    **{(page, "image"): ((page, "image"),) for page in PAGES},
    **{
        (page, "nodePort"): ((page, "service", "type"), (page, "service", "nodePort"))
        for page in PAGES
    },
}
"""What each of these keys becomes."""


class Made(NamedTuple):
    """One value of the chart, and the key of the params file that asks for it."""

    target: Pointer
    value: Any
    source: Pointer


def intents(params: Mapping[str, Any]) -> Iterator[Made]:
    """The values that such keys make."""
    for role in ("evaluator", *PAGES):
        if role in params:  # true, false or a mapping of settings
            yield Made((role, "enabled"), params[role] is not False, (role,))
    if "image" in params:
        yield from _image(("image",), params["image"], ("image",))
    tag = parse_image(params.get("image", "")).tag or DEFAULT_TAG
    yield from _gpus(params.get("gpus"), tag)
    yield from _account(params.get("serviceAccount"))
    for page in PAGES:
        yield from _page(page, params.get(page), tag + _NOTEBOOK_SUFFIX)


def _image(target: Pointer, reference: str, source: Pointer, tag: str = "") -> Iterator[Made]:
    """The parts of a reference; `tag` is for one that has neither tag nor digest."""
    image = parse_image(reference)
    if not image.tag and not image.digest:
        image = image._replace(tag=tag)
    for key, text in image._asdict().items():
        if text:
            yield Made((*target, key), text, source)


def _gpus(gpus: Any, tag: str) -> Iterator[Made]:
    """GPUs as limits of their roles, and the image of these roles. 0 is none."""
    by_role = gpus if isinstance(gpus, Mapping) else {"worker": gpus}
    vendor = by_role.get("vendor", DEFAULT_VENDOR)
    for role in GPU_ROLES:
        if not by_role.get(role):
            continue
        source: Pointer = ("gpus", role) if by_role is gpus else ("gpus",)
        yield Made((role, "resources", "limits", vendor), by_role[role], source)
        if "image" in by_role:
            yield from _image((role, "image"), by_role["image"], ("gpus", "image"), tag)


def _account(account: Any) -> Iterator[Made]:
    """The name of an account, or a mapping as the chart has it."""
    if isinstance(account, str):
        yield Made(("serviceAccount", "name"), account, ("serviceAccount",))
    elif isinstance(account, Mapping):
        for key in ("create", "name"):
            if key in account:
                yield Made(("serviceAccount", key), account[key], ("serviceAccount", key))
        for key, text in account.get("annotations", {}).items():
            path: Pointer = ("serviceAccount", "annotations", key)
            yield Made(path, text, path)


def _page(page: str, settings: Any, tag: str) -> Iterator[Made]:
    """The image of a page, and the port of the nodes that it is on."""
    if not isinstance(settings, Mapping):
        return
    if "image" in settings:
        yield from _image((page, "image"), settings["image"], (page, "image"), tag)
    port = settings.get("nodePort", False)
    source: Pointer = (page, "nodePort")
    if port:
        yield Made((page, "service", "type"), "NodePort", source)
        if port is not True:
            yield Made((page, "service", "nodePort"), port, source)
