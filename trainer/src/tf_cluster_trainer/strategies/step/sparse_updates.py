"""Optimizers whose sparse gradients change the rows of the batch and nothing else.

A sparse gradient is that of an embedding: of the rows that were looked up. Of tf_keras' legacy
optimizers Adagrad and SGD with momentum have one kernel for it, which holds the locks of the
variable and of its slot. Those here have none; why they are as they are, and what was measured:
docs/decisions/0013-sparse-updates.md.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
import tf_keras


class LazyAdam(tf_keras.optimizers.legacy.Adam):  # type: ignore[misc]
    """Adam whose moments of a row decay only when the row has a gradient.

    Dense gradients are Adam's as ever. The correction of the bias counts all updates, not a row's:
    as in TensorFlow Addons' LazyAdam.

    Several workers may update a row at once. Each moment is changed by one operation that holds its
    lock, so its decays multiply as if the workers came in turn, and no gradient is lost. A row's
    second moment (v) is never without a gradient that its first (m) has: v is changed before m,
    and m is read before v. So |m| / sqrt(v) stays below 7.3, whatever the gradients: by Cauchy and
    Schwarz' inequality for the two sums over a row's gradients its square is at most
    (1 - beta_1)^2 / ((1 - beta_2) (1 - beta_1^2 / beta_2)). Of n workers some gradients may stand
    up to n places earlier in v than in m: that adds a factor of beta_2^(-n / 2).
    """

    def _resource_apply_sparse(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        """`grad` [n, ...] and `indices` [n], of different rows; an operation."""
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


class PlainSGD(tf_keras.optimizers.legacy.SGD):  # type: ignore[misc]
    """SGD without momentum, of whose sparse updates none is lost.

    tf_keras' adds the rows without a lock: of two workers' sums one can be overwritten.
    """

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Any, var: Any, indices: Any, apply_state: Any = None
    ) -> Any:
        """`grad` [n, ...] and `indices` [n], which may name a row several times; an operation."""
        of_dtype = (var.device, var.dtype.base_dtype)
        coefficients = (apply_state or {}).get(of_dtype) or self._fallback_apply_state(*of_dtype)
        with _at(var):
            return add_rows(var, indices, -grad * coefficients["lr_t"])


def decay_rows(slot: Any, indices: Any, kept: Any, values: Any) -> Any:
    """Rows of `slot` become `kept` times themselves plus `values`; an operation.

    The kernel is momentum's, with a rate of 0: it holds the lock from the reading of a row to its
    writing. Were the decay read first and added later, workers at once would all take theirs from
    the same value, and from about ten on a row would grow instead.
    """
    if tf.DeviceSpec.from_string(slot.device).device_type == "GPU":
        # It has no such kernel there, and nobody else updates there: the ps are on CPUs.
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
    """Add to rows under the variable's lock; an operation.

    ResourceScatterAdd takes no lock of its own: with four threads on the same rows it lost up to a
    fifth of an element's additions, this one none.
    """
    return tf.raw_ops.ResourceScatterNdAdd(
        ref=variable.handle, indices=indices[:, tf.newaxis], updates=values
    )


@contextlib.contextmanager
def _at(variable: Any) -> Iterator[None]:
    """Where the variable is, so that no row of a slot travels; and never compiled.

    What XLA compiles takes whole variables and gives back whole ones (`train.xla`): a step then
    cost 37 times as much with 100 times the rows.
    """
    with contextlib.ExitStack() as scope:
        scope.enter_context(tf.device(variable.device))
        if not tf.executing_eagerly():
            scope.enter_context(tf.xla.experimental.jit_scope(compile_ops=False))
        yield


def _rows(variable: Any, indices: Any) -> Any:
    return tf.raw_ops.ResourceGather(
        resource=variable.handle, indices=indices, dtype=variable.dtype.base_dtype
    )
