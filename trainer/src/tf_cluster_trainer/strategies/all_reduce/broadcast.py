"""Collectives by which all workers agree: sums, and what only the chief has read."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

# The integers of so many bytes that have a number's bits.
_BITS = {1: tf.uint8, 2: tf.uint16, 4: tf.uint32, 8: tf.int64, 16: tf.int64}
# CollectiveReduce supports these; other numbers travel as int64.
_REDUCIBLE = (tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.int32, tf.int64)


class Broadcast:
    """All workers call each method together, with values of the same shapes.

    `workers` is their number, `replicas` the number of devices of each that train.
    """

    def __init__(self, strategy: Any, workers: int, *, is_chief: bool) -> None:
        self._strategy = strategy
        self.workers = workers
        self.replicas = strategy.num_replicas_in_sync // workers
        self._is_chief = is_chief

    def summed(self, ours: Any) -> Any:
        """Return the sum of all workers' vectors."""

        def of_replica() -> Any:
            replica = tf.distribute.get_replica_context()
            first = replica_number(replica) % self.replicas == 0
            mine = tf.identity(ours) if first else tf.zeros_like(ours)
            return replica.all_reduce(tf.distribute.ReduceOp.SUM, mine)

        return self._strategy.experimental_local_results(self._strategy.run(of_replica))[0]

    def gathered(self, number: int, index: int) -> list[int]:
        """Return every worker's number; `index` is this worker's."""
        ours = np.zeros([self.workers], np.int64)
        ours[index] = number
        found: list[int] = tf.function(self.summed)(tf.constant(ours)).numpy().tolist()
        return found

    def text_of_chief(self, text: str) -> str:
        """Return the chief's text in every worker."""
        return self._bytes_of_chief(text.encode()).decode()

    def variables_of_chief(self, variables: list[Any]) -> None:
        """Give every copy of the variables the value of the chief's first copy.

        They may be of any type and size. Each copy is assigned by itself: to assign a variable of
        all replicas takes collectives, which would have to be the same in all workers.
        """
        # TensorFlow's collectives can end the process if there is nothing to send.
        filled = [variable for variable in variables if variable.shape.num_elements()]
        numbers = [variable for variable in filled if variable.dtype != tf.string]
        for variable in filled:
            if variable.dtype == tf.string:
                first = self._strategy.experimental_local_results(variable)[0]
                ours = tf.io.serialize_tensor(first.read_value()).numpy()
                self.assign(variable, tf.io.parse_tensor(self._bytes_of_chief(ours), tf.string))

        def of_chief() -> list[Any]:
            replica = tf.distribute.get_replica_context()
            values = []
            for variable in numbers:
                value = reducible(variable.read_value())
                if replica_number(replica) != 0:
                    value = tf.zeros_like(value)
                values.append(replica.all_reduce(tf.distribute.ReduceOp.SUM, value))
            return values

        def assign() -> None:
            values = self._strategy.run(of_chief)
            for variable, value in zip(numbers, values, strict=True):
                local = self._strategy.experimental_local_results(value)[0]
                self.assign(variable, from_reducible(local, variable.dtype))

        if numbers:
            tf.function(assign, autograph=False)()

    def _bytes_of_chief(self, ours: bytes) -> bytes:
        """Return the chief's bytes in every worker."""
        if not self._is_chief:
            ours = b""
        sums = tf.function(self.summed, input_signature=[tf.TensorSpec([None], tf.int64)])
        length = int(sums(tf.constant([len(ours)], tf.int64))[0])
        padded = np.zeros([length], np.int64)
        padded[: len(ours)] = list(ours)
        return bytes(sums(tf.constant(padded)).numpy().tolist())

    def assign(self, variable: Any, value: Any) -> None:
        """Assign the value to every copy in this worker; needs no other worker."""
        for own in self._strategy.experimental_local_results(variable):
            own.assign(value)


def reducible(value: Any) -> Any:
    """The number's bits, or the integer, in a type that CollectiveReduce supports.

    Bits stay whole in a sum with zeros. complex128 has one axis more.
    """
    if value.dtype in _REDUCIBLE:
        return value
    if not (value.dtype.is_integer or value.dtype.is_bool):
        value = tf.bitcast(value, _BITS[value.dtype.size])
    return tf.cast(value, tf.int64)


def from_reducible(value: Any, dtype: tf.DType) -> Any:
    """The inverse of `reducible`, for a number of this type."""
    if dtype in _REDUCIBLE:
        return value
    if dtype.is_integer or dtype.is_bool:
        return tf.cast(value, dtype)
    return tf.bitcast(tf.cast(value, _BITS[dtype.size]), dtype)


def replica_number(replica: Any) -> int:
    """The number of this replica among those of all workers; a constant in a graph."""
    return int(tf.get_static_value(replica.replica_id_in_sync_group))


def summed_together(replica: Any, values: list[Any]) -> list[Any]:
    """Return each value's sum over all replicas. TensorFlow sums values of one type at once."""
    sums = [_parts_of_complex(value) for value in values]
    filled = [place for place, value in enumerate(sums) if value.shape.num_elements() != 0]
    for dtype in dict.fromkeys(sums[place].dtype for place in filled):
        places = [place for place in filled if sums[place].dtype == dtype]
        of_type = replica.all_reduce(tf.distribute.ReduceOp.SUM, [sums[place] for place in places])
        for place, total in zip(places, of_type, strict=True):
            sums[place] = total
    return [_as_before(total, value.dtype) for total, value in zip(sums, values, strict=True)]


def _parts_of_complex(value: Any) -> Any:
    """Complex numbers as real ones, [..., 2], which CollectiveReduce supports."""
    if not value.dtype.is_complex:
        return value
    return _bitcast(value, value.dtype.real_dtype)


def _as_before(value: Any, dtype: tf.DType) -> Any:
    return _bitcast(value, dtype) if dtype.is_complex else value


def _bitcast(value: Any, dtype: tf.DType) -> Any:
    if isinstance(value, tf.IndexedSlices):
        rows = tf.bitcast(value.values, dtype)
        return tf.IndexedSlices(rows, value.indices, value.dense_shape)
    return tf.bitcast(value, dtype)
