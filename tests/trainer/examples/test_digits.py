"""The digits are scikit-learn's, read without importing it."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
from sklearn.datasets import load_digits
from tf_cluster_trainer.examples import digits


def test_the_images_are_those_of_scikit_learn_in_another_order() -> None:
    bunch = load_digits()
    order = np.random.default_rng(digits.SPLIT_SEED).permutation(len(bunch.target))

    images, labels = digits._examples()

    assert (images.dtype, images.shape, labels.dtype) == (np.float32, (1797, 8, 8, 1), np.int64)
    np.testing.assert_array_equal(images[..., 0], (bunch.images[order] / 16).astype(np.float32))
    np.testing.assert_array_equal(labels, bunch.target[order])


def test_scikit_learn_is_not_imported() -> None:
    code = (
        "import sys; from tf_cluster_trainer.examples import digits; digits._examples(); "
        "sys.exit('sklearn' in sys.modules)"
    )
    as_in_a_child = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=240, env=as_in_a_child)
