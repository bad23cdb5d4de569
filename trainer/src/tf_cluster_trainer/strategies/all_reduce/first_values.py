"""The first value of a variable that TensorFlow can't send from worker 0 to the others.

MultiWorkerMirroredStrategy broadcasts every variable's first value when it is made. There is no
such operation for many types, and for a variable without elements it ends worker 0 (SIGSEGV). Here
each worker makes these for itself, and `Broadcast.variables_of_chief` then gives all of them the
chief's. A variable that neither the model nor the optimizer holds keeps each worker's own.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

# CollectiveBcastSend and CollectiveBcastRecv support these.
_SENT = (tf.bool, tf.float16, tf.float32, tf.float64, tf.int32, tf.int64)


def is_sent(one: Any) -> bool:
    """Whether TensorFlow sends a variable, or tensor, of this type and shape."""
    return one.dtype.base_dtype in _SENT and one.shape.num_elements() != 0


def install(strategy: Any) -> None:
    """From now on this strategy sends only the first values that it can."""
    extended = strategy.extended
    of_strategy = extended._get_variable_creator_initial_value

    def initial_value(*, replica_id: int, device: str, primary_var: Any, **given: Any) -> Any:
        def of_first() -> Any:
            value = given["initial_value"]
            with tf.device(device):
                value = value() if callable(value) else value
                # Of a variable that a checkpoint of the program fills.
                value = getattr(value, "wrapped_value", value)
                value = tf.convert_to_tensor(value, given.get("dtype"))
            return value if not is_sent(value) else sent(value)()

        def sent(value: Any) -> Any:
            told = {**given, "initial_value": value}
            return of_strategy(
                replica_id=replica_id, device=device, primary_var=primary_var, **told
            )

        return of_first if replica_id == 0 else sent(given.get("initial_value"))

    extended._get_variable_creator_initial_value = initial_value
