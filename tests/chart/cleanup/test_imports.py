"""Cleanup stands alone."""

from __future__ import annotations

import subprocess
import sys


def test_it_imports_neither_tensorflow_nor_the_trainer() -> None:
    program = "import sys, tf_cluster_cleanup.main; print('\\n'.join(sys.modules))"
    loaded = subprocess.run(
        (sys.executable, "-c", program), check=True, capture_output=True, text=True
    ).stdout.split()
    for name in ("tensorflow", "tf_keras", "numpy", "tf_cluster_trainer"):
        assert name not in loaded
