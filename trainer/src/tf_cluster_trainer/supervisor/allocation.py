"""How the C library keeps memory in a child that holds variables or makes steps.

glibc takes what is larger than 32 MiB from the kernel for each use, and gives it back after: in
every step each page of a large variable's value and gradient is mapped and zeroed anew.
docs/decisions/0012-kept-memory.md has what keeping it gains and costs.
"""

from __future__ import annotations

from collections.abc import Mapping

KEPT_BYTES = 2**30


def kept(environment: Mapping[str, str]) -> dict[str, str]:
    """Variables for the child of the task of this environment, which may have its own."""
    if environment.get("TF_CLUSTER_TASK_TYPE") not in ("ps", "worker"):
        return {}
    return {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(KEPT_BYTES)}
