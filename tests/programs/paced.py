"""The digits, slowly, so that a training lasts as long as a case needs on any machine."""

from __future__ import annotations

import tensorflow as tf
from tensorflow.python.data.experimental.ops import testing
from tf_cluster_trainer import Context
from tf_cluster_trainer.examples.digits import Digits

# For each example; a batch of 32 then takes at least 6.4 ms, and some more for 32 timers.
MICROSECONDS = 200


class Paced(Digits):
    """Classifies the images."""

    def dataset(self, ctx: Context, input_context: tf.distribute.InputContext) -> tf.data.Dataset:
        """The digits' own, slowly."""
        return super().dataset(ctx, input_context).apply(testing.sleep(MICROSECONDS))
