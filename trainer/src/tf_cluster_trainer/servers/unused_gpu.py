"""Says when a task has a GPU that TensorFlow can't use: it would compute on CPUs without a word."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tf_cluster_trainer.log import WARNING, log


def warn(environment: Mapping[str, str], root: Path = Path("/")) -> None:
    """Log it if there is a device of NVIDIA's, not hidden from this task, that TensorFlow lacks.

    To be called once TensorFlow or its servers' part is imported. `root` has /dev.
    """
    hidden = environment.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    here = sorted(root.glob("dev/nvidia[0-9]*"))
    if hidden or not here:
        return
    from tensorflow.python import pywrap_tfe
    from tensorflow.python.platform import build_info

    if any(b":GPU:" in device for device in pywrap_tfe.TF_ListPhysicalDevices()):
        return
    why = (
        "TF_CPP_MIN_LOG_LEVEL=0 and TF_CPP_MAX_VLOG_LEVEL=1 in its environment tell what is missing"
        if build_info.build_info["is_cuda_build"]
        else "this TensorFlow is built for CPUs; the image of a pod with a GPU needs its GPU build"
    )
    log(f"/dev/{here[0].name} is here, but TensorFlow computes on CPUs: {why}", WARNING)
