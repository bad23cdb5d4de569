"""Files of MNIST's form, made from scikit-learn's digits: 1,437 to train on and 360 to test."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

TEST = 360


def write(folder: Path, *, packed: bool = True) -> None:
    """The four files, as gzip packs them or not."""
    folder.mkdir(parents=True, exist_ok=True)
    bunch = load_digits()
    order = np.random.default_rng(7).permutation(len(bunch.target))
    # 8 by 8 pixels of 0 to 16, each three times as large, and a margin of 2: 28 by 28 of 0 to 255.
    large = np.kron(bunch.images[order] * 255 / 16, np.ones((3, 3)))
    images = np.pad(large, ((0, 0), (2, 2), (2, 2))).astype(np.uint8)
    labels = bunch.target[order].astype(np.uint8)
    for part, chosen in (("t10k", slice(TEST)), ("train", slice(TEST, None))):
        for name, array in (("images-idx3", images[chosen]), ("labels-idx1", labels[chosen])):
            content = _idx(array)
            file = folder / f"{part}-{name}-ubyte{'.gz' if packed else ''}"
            file.write_bytes(gzip.compress(content, mtime=0) if packed else content)


def _idx(array: Any) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + bytes(array)
    )
