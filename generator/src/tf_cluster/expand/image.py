"""An image reference, taken apart."""

from typing import NamedTuple

from tf_cluster import __version__

DEFAULT_TAG = __version__
"""Written where params name no tag and no digest: the appVersion of the chart of this version."""


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
