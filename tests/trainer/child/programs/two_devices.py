"""Workers with two devices: TensorFlow's logical CPUs, where GPUs would be."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from tensorflow.python.distribute.collective_all_reduce_strategy import CollectiveAllReduceExtended

from tests.trainer.child.programs.fixed import Fixed

DEVICES = 2

tf.config.set_logical_device_configuration(
    tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * DEVICES
)


def _both(self: Any, cluster_resolver: Any, worker_device: str) -> tuple[tuple[str, ...], str]:
    return tuple(f"{worker_device}/device:CPU:{index}" for index in range(DEVICES)), "CPU"


# It counts accelerators; of CPUs it takes the first alone.
CollectiveAllReduceExtended._initialize_local_devices = _both


class OnTwoDevices(Fixed):
    """The same training."""
