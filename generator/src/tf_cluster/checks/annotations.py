"""The size of an object's annotations."""

from collections.abc import Iterator

from tf_cluster.expand.roles import POD_SECTIONS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

ANNOTATIONS_TOO_LARGE = Code(
    "TFC341",
    "more annotations than an object takes",
    why="The API server refuses an object with over 256 KiB of annotations.",
    wrong="extraValues: {commonAnnotations: {notes: '«x × 300000»'}}",
    right="extraValues: {commonAnnotations: {notes: https://example.com/notes}}",
)

MOST_ANNOTATIONS = 255 << 10
"""Bytes of annotations per object. Kubernetes accepts 256 KiB, including Helm's own."""


def check(params: Params) -> Iterator[Finding]:
    """Findings on objects that the API server would refuse."""
    pods: list[Pointer] = [
        (role, f"{whose}Annotations") for role in POD_SECTIONS for whose in ("pod", "object")
    ]
    claims: list[Pointer] = [("storage", volume, "annotations") for volume in ("data", "log")]
    for path in [("commonAnnotations",), ("serviceAccount", "annotations"), *pods, *claims]:
        texts = params.value_at(path) or {}
        size = sum(len(part.encode()) for pair in texts.items() for part in pair)
        if size > MOST_ANNOTATIONS:
            where = params.values.origin_around(path)
            where = where[: len(path) + 1] if where[:1] == ("extraValues",) else where
            message = f"{dotted(path)} has {size >> 10} KiB; an object takes 256 KiB of annotations"
            yield params.finding(where, ANNOTATIONS_TOO_LARGE, message)
