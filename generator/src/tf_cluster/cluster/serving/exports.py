"""Exports as `tf-trainer check-exports` saw them, and which of them may be served."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.exits import RefusedError

SIGNATURE = "serving_default"
CHARTS_BATCH = 32
"""batching.maxBatchSize of the chart."""
GPU = "-gpu"
"""How the tag of a server for GPUs ends."""
FEW = 12
"""Most versions that a sentence names."""
_RELEASE = re.compile(r"v?(\d+)\.(\d+)(?:\.\d+)?(?:[-.+].*)?")


@dataclass(frozen=True)
class Tensor:
    """An input or output of a signature. A length that is free is None; so is an unknown rank."""

    dtype: str
    shape: tuple[int | None, ...] | None

    @property
    def text(self) -> str:
        """`float32 [?, 64]`."""
        if self.shape is None:
            return f"{self.dtype} of any shape"
        lengths = ", ".join("?" if one is None else str(one) for one in self.shape)
        return f"{self.dtype} [{lengths}]"


@dataclass(frozen=True)
class Export:
    """A version of a model on a volume; `size` in bytes.

    `problem` says why no server should load it, `note` what is odd. `request` is the recorded one,
    where it is known.
    """

    number: int
    size: int
    tensorflow: str = ""
    step: int | None = None
    metrics: Mapping[str, float] | None = None
    inputs: Mapping[str, Tensor] = field(default_factory=dict)
    outputs: Mapping[str, Tensor] = field(default_factory=dict)
    difference: float | None = None
    problem: str = ""
    note: str = ""
    request: Mapping[str, Any] | None = None
    warm_up: int = 0
    """The most rows of a request that a server warms up with."""


@dataclass(frozen=True)
class Found:
    """The exports of a directory that were looked at, the newest first, and the other numbers."""

    seen: tuple[Export, ...]
    unseen: tuple[int, ...] = ()

    @property
    def numbers(self) -> list[int]:
        """All there are, the newest first."""
        return sorted({*(one.number for one in self.seen), *self.unseen}, reverse=True)


def exports_of(document: Mapping[str, Any]) -> Found:
    """The exports of a directory. Raises RefusedError for another document."""
    try:
        found = [_export(one) for one in document["exports"]]
        unseen = tuple(map(int, document.get("unseen") or ()))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RefusedError(
            f"the trainer's image says what this tool can't read: {error!r}"
        ) from None
    return Found(tuple(sorted(found, key=lambda one: one.number, reverse=True)), unseen)


def _export(one: Mapping[str, Any]) -> Export:
    signature = (one.get("signatures") or {}).get(SIGNATURE) or {}
    step, difference = one.get("step"), one.get("difference")
    return Export(
        number=int(one["number"]),
        size=int(one["bytes"]),
        tensorflow=str(one.get("tensorflow") or ""),
        step=None if step is None else int(step),
        metrics=one.get("metrics"),
        inputs=_tensors(signature.get("inputs")),
        outputs=_tensors(signature.get("outputs")),
        difference=None if difference is None else float(difference),
        problem=str(one.get("problem") or ""),
        note=str(one.get("note") or ""),
        request=one.get("request"),
        warm_up=max(map(int, filter(None, one.get("warmUp") or ())), default=0),
    )


def _tensors(given: Mapping[str, Mapping[str, Any]] | None) -> dict[str, Tensor]:
    found = {}
    for name, one in sorted((given or {}).items()):
        shape = one.get("shape")
        lengths = None if shape is None else tuple(None if n is None else int(n) for n in shape)
        found[name] = Tensor(str(one["dtype"]), lengths)
    return found


def to_serve(found: Found, version: int | None, where: str, option: str = "") -> Export:
    """The version that is asked for, else the newest, if a server may load it.

    Raises RefusedError, which says what is wrong with it and which other one is good; `option` is
    how a command takes that.
    """
    if not found.numbers:
        raise RefusedError(f"{where} has no export yet: a training writes one at its end")
    if version is None and not found.seen:
        raise RefusedError(f"the newest export in {where} was removed just now: try again")
    if version is None:
        one = found.seen[0]
    else:
        known = {each.number: each for each in found.seen}
        if version not in known:
            there = ", ".join(map(str, found.numbers[:FEW]))
            raise RefusedError(f"{where} has no version {version}: there are {there}")
        one = known[version]
    if one.problem:
        problem = _why(one, found.seen, option)
        raise RefusedError(f"version {one.number} in {where} can't be served: {problem}")
    return one


def _why(one: Export, exports: Sequence[Export], option: str) -> str:
    good = [each.number for each in exports if not each.problem and each.number != one.number]
    problem = one.problem.rstrip(".")
    if not good:
        return problem
    return f"{problem}; version {good[0]} is good" + (f": {option} {good[0]}" if option else "")


def refuse_older_server(image: str, export: Export) -> None:
    """Refuse a server that is older than the TensorFlow of an export. Raises RefusedError.

    `image` is the server's. One that is not TensorFlow's own, or whose tag says no version, is let
    through.
    """
    is_theirs = repository_of(image).endswith("tensorflow/serving")
    server, wrote = _release(tag_of(image)), _release(export.tensorflow)
    if is_theirs and server and wrote and server < wrote:
        tag = f"{export.tensorflow}{GPU if tag_of(image).endswith(GPU) else ''}"
        raise RefusedError(
            f"version {export.number} was written by TensorFlow {export.tensorflow}, and the "
            f"server {image} is older: take --set image.tag={tag}"
        )


def refuse_small_batches(batching: Mapping[str, Any], export: Export) -> None:
    """Refuse a server whose batches are smaller than what an export warms it up with.

    `batching` is that of the values, without what is the chart's own. Raises RefusedError.
    """
    most = batching.get("maxBatchSize", CHARTS_BATCH)
    if batching.get("enabled") is True and isinstance(most, int) and most < export.warm_up:
        raise RefusedError(
            f"version {export.number} warms a server up with {export.warm_up} rows, and one with "
            f"batches of {most} does not load it: set batching.maxBatchSize to {export.warm_up}, "
            "or batching.enabled to false"
        )


def repository_of(image: str) -> str:
    """The reference of an image without tag and digest."""
    name = image.partition("@")[0]
    tag = tag_of(image)
    return name.removesuffix(f":{tag}") if tag else name


def tag_of(image: str) -> str:
    """The tag of an image's reference; empty where there is none."""
    name = image.partition("@")[0].rpartition("/")[2]
    return name.partition(":")[2]


def _release(text: str) -> tuple[int, int] | None:
    found = _RELEASE.fullmatch(text)
    return (int(found[1]), int(found[2])) if found else None
