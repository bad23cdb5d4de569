"""The build of the GPU image asks TensorFlow's own loader. The one for CPUs finds nothing here."""

from __future__ import annotations

import subprocess
import sys

from tests.suites.suite import ROOT

CHECK = ROOT / "trainer/image/check_cuda.py"


def test_a_library_that_tensorflow_does_not_find_fails_the_build_by_its_name() -> None:
    ran = subprocess.run(
        [sys.executable, str(CHECK)], capture_output=True, text=True, check=False, timeout=240
    )

    assert ran.returncode == 1
    assert "TensorFlow does not find CudaRuntime, Cublas, " in ran.stderr
    assert "Cusolver" in ran.stderr
    assert ran.stdout == "TensorFlow opens nothing\n"
