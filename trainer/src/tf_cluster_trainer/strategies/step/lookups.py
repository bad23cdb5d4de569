"""Has TensorFlow's embedding_lookup call another function for variables of a kind of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf


def dispatch(look_up: Callable[..., Any], *kinds: Any) -> None:
    """From now on look-ups in variables of these types are made by `look_up`, in this process.

    It takes the variable, the ids, and `partition_strategy`, `max_norm` and `name` as
    TensorFlow 1's embedding_lookup does. Ragged ids come to it as a tensor of all of them.
    """

    def embedding_lookup(
        params: Any,
        ids: Any,
        partition_strategy: str = "mod",
        name: str | None = None,
        validate_indices: bool = True,
        max_norm: float | None = None,
    ) -> Any:
        more = {"partition_strategy": partition_strategy, "max_norm": max_norm, "name": name}
        return look_up(params, ids, **more)

    # TensorFlow has a function of its own for ragged ids, and refuses to choose between two.
    given = ({"params": kind, "ids": tf.types.experimental.TensorLike} for kind in kinds)
    tf.experimental.dispatch_for_api(tf.compat.v1.nn.embedding_lookup, *given)(embedding_lookup)
