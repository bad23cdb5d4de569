"""An image reference, taken apart."""

from typing import NamedTuple


class Image(NamedTuple):
    """Parts of a reference; tag and digest are empty where it has none."""

    repository: str
    tag: str = ""
    digest: str = ""


def parse_image(text: str) -> Image:
    """Split `[registry[:port]/]name[:tag][@digest]`; its form is the schema's matter."""
    name, _, digest = text.partition("@")
    head, slash, tail = name.rpartition("/")
    tail, _, tag = tail.partition(":")
    return Image(head + slash + tail, tag, digest)
