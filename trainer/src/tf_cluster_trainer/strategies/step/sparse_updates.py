"""Optimizers whose sparse gradients change the rows of the batch and nothing else.

An embedding has a sparse gradient: of the rows that were looked up. tf_keras' legacy Adagrad and
SGD with momentum have one kernel for it, which holds the locks of the variable and of its slot. For
Adam and SGD there is none. Why they are built this way, and what was measured:
docs/decisions/0013-sparse-updates.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
import tf_keras

from tf_cluster_trainer.strategies.step.compiling import never_compiled

_EACH_ONCE = ("Unique", "SparseAccumulatorTakeGradient")


# The ignored types: tf_keras has none, so its classes are Any.
class DistinctRows(tf_keras.optimizers.legacy.Optimizer):  # type: ignore[misc]
    """Before an optimizer of tf_keras: rows that are all different are taken as they are.

    tf_keras finds equal rows of each gradient and adds them up. Those of a look-up that asks for
    each row once (see `each_row_once`) are different, and the sums were most of an update.
    """

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, handle: Any, indices: Any, **given: Any
    ) -> Any:
        if are_distinct(indices):
            return self._resource_apply_sparse(grad, handle, indices, **given)
        return super()._resource_apply_sparse_duplicate_indices(grad, handle, indices, **given)


class LazyAdam(DistinctRows, tf_keras.optimizers.legacy.Adam):  # type: ignore[misc]
    """Adam whose moments of a row decay only when the row has a gradient.

    Dense gradients are updated as in Adam. The bias correction counts all updates, not a row's, as
    in TensorFlow Addons' LazyAdam.

    Several workers may update a row at once. Each moment is changed by one operation that holds its
    lock, so its decays multiply as if the workers came in turn, and no gradient is lost. A row's
    second moment (v) is never without a gradient that its first (m) has: v is changed before m, and
    m is read before v. So |m| / sqrt(v) stays below 7.3, whatever the gradients: by Cauchy and
    Schwarz' inequality for the two sums over a row's gradients its square is at most (1 - beta_1)^2
    / ((1 - beta_2) (1 - beta_1^2 / beta_2)). Of n workers some gradients may stand up to n places
    earlier in v than in m: that adds a factor of beta_2^(-n / 2).
    """

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        """Return an update operation for `grad` [n, ...] and `indices` [n], all different."""
        of_dtype = (var.device, var.dtype.base_dtype)
        coefficients = (apply_state or {}).get(of_dtype) or self._fallback_apply_state(*of_dtype)
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        with _at(var):
            v_new = tf.square(grad) * coefficients["one_minus_beta_2_t"]
            v_changed = decay_rows(v, indices, coefficients["beta_2_t"], v_new)
            m_new = grad * coefficients["one_minus_beta_1_t"]
            with tf.control_dependencies([v_changed]):
                m_changed = decay_rows(m, indices, coefficients["beta_1_t"], m_new)
            with tf.control_dependencies([m_changed]):
                m_rows = _rows(m, indices)
            with tf.control_dependencies([m_rows]):
                v_rows = _rows(v, indices)
            change = -coefficients["lr"] * m_rows / (tf.sqrt(v_rows) + coefficients["epsilon"])
            return add_rows(var, indices, change)


class Adagrad(DistinctRows, tf_keras.optimizers.legacy.Adagrad):  # type: ignore[misc]
    """tf_keras' own otherwise."""


class Momentum(DistinctRows, tf_keras.optimizers.legacy.SGD):  # type: ignore[misc]
    """tf_keras' SGD with momentum otherwise."""


class PlainSGD(tf_keras.optimizers.legacy.SGD):  # type: ignore[misc]
    """SGD without momentum that loses no sparse update.

    tf_keras' SGD adds the rows without a lock: one of two workers' sums can be overwritten.
    """

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        """Return an update operation for `grad` [n, ...] and `indices` [n], which may repeat."""
        of_dtype = (var.device, var.dtype.base_dtype)
        coefficients = (apply_state or {}).get(of_dtype) or self._fallback_apply_state(*of_dtype)
        with _at(var):
            return add_rows(var, indices, -grad * coefficients["lr_t"])


def decay_rows(slot: Any, indices: Any, kept: Any, values: Any) -> Any:
    """Return an operation: rows of `slot` become `kept` times themselves plus `values`.

    The kernel is momentum's, with a rate of 0: it holds the lock from the read of a row to its
    write. If the decay were read first and added later, simultaneous workers would all take it from
    the same value, and with about ten or more a row would grow instead.
    """
    if tf.DeviceSpec.from_string(slot.device).device_type == "GPU":
        # GPUs have no such kernel, and there nobody else updates: the ps are on CPUs.
        return add_rows(slot, indices, values - (1 - kept) * _rows(slot, indices))
    return tf.raw_ops.ResourceSparseApplyMomentum(
        var=slot.handle,  # less 0 times itself
        accum=slot.handle,
        lr=tf.zeros([], slot.dtype.base_dtype),
        grad=values,
        indices=indices,
        momentum=kept,
        use_locking=True,
    )


def add_rows(variable: Any, indices: Any, values: Any) -> Any:
    """Return an operation that adds to rows under the variable's lock.

    ResourceScatterAdd takes no lock: with four threads on the same rows it lost up to a fifth of an
    element's additions; this operation lost none.
    """
    return tf.raw_ops.ResourceScatterNdAdd(
        ref=variable.handle, indices=indices[:, tf.newaxis], updates=values
    )


def are_distinct(indices: Any) -> bool:
    """Whether the graph says so: an operation found them that gives each once.

    That is `Unique`, and an accumulator that is taken: it adds up the rows of all workers by their
    indices, if those of each worker are distinct.
    """
    if tf.executing_eagerly():
        return False
    while indices.op.type in ("Identity", "Reshape"):
        indices = indices.op.inputs[0]
    return indices.value_index == 0 and indices.op.type in _EACH_ONCE


@contextlib.contextmanager
def _at(variable: Any) -> Iterator[None]:
    """A context on the variable's device, so that no row of a slot travels; never compiled.

    Code compiled by XLA takes and returns whole variables (`train.xla`): a step then cost 37 times
    as much with 100 times the rows.
    """
    with tf.device(variable.device), never_compiled():
        yield


def _rows(variable: Any, indices: Any) -> Any:
    return tf.raw_ops.ResourceGather(
        resource=variable.handle, indices=indices, dtype=variable.dtype.base_dtype
    )
