"""The same programs, whose state is taken for small: it is copied, and then written whole."""

from __future__ import annotations

from programs import Still
from tf_cluster_trainer.checkpoint import pieces

__all__ = ["Still"]

pieces.SMALL_STATE_BYTES = 1 << 50
