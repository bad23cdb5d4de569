"""Sets what TensorFlow reads about devices from the environment when it is imported."""

from __future__ import annotations

from collections.abc import MutableMapping

from tf_cluster_trainer.config import Combination

# XLA compiles clusters of operations where they are placed, also on CPUs; the rest runs as usual.
_COMPILE = "--tf_xla_auto_jit=2 --tf_xla_cpu_global_jit"


def give(
    environment: MutableMapping[str, str], task_type: str, combination: Combination, xla: bool
) -> None:
    """Set which GPUs this task uses, that it takes their memory as needed, and whether to compile.

    Otherwise the first of several processes would take all memory of a GPU that they share. These
    are defaults: a variable that the environment has already stays, and the last of XLA's flags
    wins.
    """
    environment.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    if task_type not in ("worker", "evaluator"):
        environment.setdefault("CUDA_VISIBLE_DEVICES", "")
    elif task_type == "evaluator" or combination.has_ps:
        # With several GPUs, ParameterServerStrategy repeats the same step on each of them.
        environment.setdefault("CUDA_VISIBLE_DEVICES", "0")
    if xla:
        environment["TF_XLA_FLAGS"] = f"{_COMPILE} {environment.get('TF_XLA_FLAGS', '')}".strip()
