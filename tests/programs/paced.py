"""The digits, slowly, so that a training lasts as long as a case needs on any machine."""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing
from tf_cluster_trainer import Context
from tf_cluster_trainer.examples.digits import Digits, DigitsFlags


@dataclass(frozen=True)
class PacedFlags(DigitsFlags):
    """`microseconds`: for each example; a batch of 32 then takes at least 6.4 ms, and some more
    for 32 timers.
    """

    microseconds: int = 200


class Paced(Digits):
    """Classifies the images."""

    flags = PacedFlags

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """The digits' own, slowly."""
        pause = testing.sleep(ctx.flags.microseconds)
        return super().dataset(ctx, input_context).apply(pause)
