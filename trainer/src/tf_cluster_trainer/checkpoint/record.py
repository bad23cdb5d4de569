"""The canonical form of a checkpoint, the same for every strategy.

    checkpoints/ckpt-<step>/
      variables.index, variables.data-00000-of-00001    TensorFlow's bundle format; a large one
                                                        has several data files
      meta.json

The bundle holds full, unpartitioned tensors: `model/<variable>`, `optimizer/<slot>/<variable>`,
`optimizer/iterations`, `step`. `tf.train.load_checkpoint(".../variables")` reads it. A large tensor
is stored in slices of whole rows, which no reader notices; meta.json says where they begin. A slice
that may be used as pages of its file (checkpoint/pages.py) is that data file's first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

VERSION = 1
STEP = "step"
_DTYPES = {"object": "string"}  # as earlier trainers wrote it


@dataclass(frozen=True)
class TensorSpec:
    """Shape and dtype name of a full tensor."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Meta:
    """What meta.json says. `workers`: steps made by each worker index.

    `slices` has the tensors that are not in one piece: the first row of each of their slices.
    `files` has those whose slices each begin a data file: its number.
    """

    step: int
    examples: int
    workers: Mapping[str, int]
    optimizer: str
    tensors: Mapping[str, TensorSpec]
    slices: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    files: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def ranges(self, key: str) -> list[tuple[int, int]]:
        """First row and end of each slice of a tensor; empty if it is in one piece."""
        begins = self.slices.get(key, ())
        ends = (*begins[1:], self.tensors[key].shape[0]) if begins else ()
        return [*zip(begins, ends, strict=True)]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk, in this directory; checkpoint/read.py reads its tensors."""

    meta: Meta
    path: Path


def to_json(meta: Meta) -> str:
    """The text of meta.json."""
    document = {
        "version": VERSION,
        "step": meta.step,
        "examples": meta.examples,
        "workers": dict(meta.workers),
        "optimizer": meta.optimizer,
        "tensors": {
            key: {"shape": list(spec.shape), "dtype": spec.dtype}
            for key, spec in meta.tensors.items()
        },
        "slices": {key: list(first) for key, first in meta.slices.items()},
        "files": {key: list(numbers) for key, numbers in meta.files.items()},
    }
    return json.dumps(document, indent=1) + "\n"


def from_json(text: str) -> Meta:
    """Parse meta.json. Raises ValueError or KeyError if it is not ours."""
    document = json.loads(text)
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']}, not {VERSION}")
    tensors = {
        key: TensorSpec(tuple(spec["shape"]), _DTYPES.get(spec["dtype"], spec["dtype"]))
        for key, spec in document["tensors"].items()
    }
    # Earlier trainers wrote neither of these.
    files = {key: tuple(numbers) for key, numbers in document.get("files", {}).items()}
    slices = {key: tuple(first) for key, first in document.get("slices", {}).items()}
    for key, first in slices.items():
        if first[:1] != (0,) or any(a >= b for a, b in pairwise((*first, tensors[key].shape[0]))):
            raise ValueError(f"the slices of {key} are not all of its rows: {first}")
    for key, numbers in files.items():
        if len(numbers) != len(slices.get(key, (0,))):
            raise ValueError(f"the files of {key} are not as many as its slices: {numbers}")
    return Meta(
        step=document["step"],
        examples=document["examples"],
        workers=document["workers"],
        optimizer=document["optimizer"],
        tensors=tensors,
        slices=slices,
        files=files,
    )
