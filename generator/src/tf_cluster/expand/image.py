"""An image reference, taken apart."""

from typing import NamedTuple

from tf_cluster import __version__

DEFAULT_TAG = __version__
"""The tag where params name neither tag nor digest: the appVersion of this version's chart."""


class Image(NamedTuple):
    """Parts of a reference; tag and digest are empty where it has none."""

    repository: str
    tag: str = ""
    digest: str = ""


def parse_image(text: str) -> Image:
    """Split `[registry[:port]/]name[:tag][@digest]`; the schema checks its form."""
    name, _, digest = text.partition("@")
    head, slash, tail = name.rpartition("/")
    tail, _, tag = tail.partition(":")
    return Image(head + slash + tail, tag, digest)
