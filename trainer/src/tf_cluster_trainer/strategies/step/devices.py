"""Names of devices and tasks as TensorFlow writes them, and where a model's variables are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tf_cluster_trainer.checkpoint.pieces import size
from tf_cluster_trainer.checkpoint.variables import StoredTensor, spec_of
from tf_cluster_trainer.ps_volume.shares import task_of

CHIEF = "/job:chief/replica:0/task:0/device:CPU:0"
# Device filters have another grammar.
ALL_PS = "/job:ps"


def worker(index: int) -> str:
    """The worker with this index; TensorFlow chooses among its devices."""
    return f"/job:worker/replica:0/task:{index}"


def worker_cpu(index: int) -> str:
    """The worker's CPU, which has its data."""
    return f"{worker(index)}/device:CPU:0"


def worker_filter(index: int) -> str:
    """The worker in a device filter."""
    return f"/job:worker/task:{index}"


def ps(index: int) -> str:
    """The device of a ps that keeps variables."""
    return f"/job:ps/replica:0/task:{index}/device:CPU:0"


def ps_bytes(stored: Iterable[StoredTensor]) -> dict[str, int]:
    """Bytes on each ps, by its name."""
    found: dict[str, int] = {}
    for one in stored:
        for part in one.parts:
            name = task_of(part.device)
            found[name] = found.get(name, 0) + size(spec_of(part))
    return dict(sorted(found.items(), key=lambda item: (len(item[0]), item[0])))


def of_variables(model: Any) -> dict[str, str]:
    """The device of every trainable variable, by the variable's name."""
    return {v.name.partition(":")[0]: v.device for v in model.trainable_variables}
