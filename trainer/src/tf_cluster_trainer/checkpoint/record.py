"""The canonical form of a checkpoint, the same for every strategy.

    checkpoints/ckpt-<step>/
      variables.index, variables.data-00000-of-00001    TensorFlow's bundle format; a large one
                                                        has several data files
      meta.json

The bundle holds full, unpartitioned tensors: `model/<variable>`, `optimizer/<slot>/<variable>`,
`optimizer/iterations`, `step`. `tf.train.load_checkpoint(".../variables")` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

VERSION = 1
STEP = "step"


@dataclass(frozen=True)
class TensorSpec:
    """Shape and dtype name of a full tensor."""

    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True)
class Meta:
    """What meta.json says. `workers`: steps made by each worker index."""

    step: int
    examples: int
    workers: Mapping[str, int]
    optimizer: str
    tensors: Mapping[str, TensorSpec]


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint in memory: NumPy arrays by their key in the bundle."""

    meta: Meta
    tensors: Mapping[str, Any]


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
    }
    return json.dumps(document, indent=1) + "\n"


def from_json(text: str) -> Meta:
    """Parse meta.json. Raises ValueError or KeyError if it is not ours."""
    document = json.loads(text)
    if document["version"] != VERSION:
        raise ValueError(f"version {document['version']}, not {VERSION}")
    return Meta(
        step=document["step"],
        examples=document["examples"],
        workers=document["workers"],
        optimizer=document["optimizer"],
        tensors={
            key: TensorSpec(tuple(spec["shape"]), spec["dtype"])
            for key, spec in document["tensors"].items()
        },
    )
