"""The user's contract: one base class; its hooks say what to train.

Imports TensorFlow only when a default hook runs, so that the supervisor may import the package.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tf_cluster_trainer.program.context import Context


class Program:
    """Subclass this; `build_model` and `dataset` are required.

    The same subclass runs under every strategy. Constructors take no arguments. `build_model` and
    `dataset` are called more than once (a plain copy of the model serves evaluation and export),
    so they give the same every time. TensorFlow types are written Any: TensorFlow has no stubs.
    """

    flags: type | None = None
    """A frozen dataclass of the program's own settings: each a name, a type and a default.

    The run's flags are checked against it before anything trains, and `ctx.flags` is an instance.
    None: nothing is declared, and `ctx.flags` has what the run has, whatever it is.
    """

    shuffle_buffer: int | None = None
    """Examples the trainer shuffles among; None: as many as fit in 64 MiB, at most 10,000."""

    def build_model(self, ctx: Context) -> Any:
        """A tf_keras.Model whose input is what `dataset` gives, batched."""
        raise NotImplementedError

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        """A tf.data.Dataset of single examples `(features, labels)`: not batched, not repeated.

        The trainer shuffles (each task in its own order), repeats and batches. `input_context` is
        TensorFlow's tf.distribute.InputContext, true where the strategy has one; under parameter
        servers it is always one pipeline, `ctx.data_shard` says more.
        """
        raise NotImplementedError

    def loss(self, labels: Any, outputs: Any) -> Any:
        """The loss of each example: a float tensor of shape [batch]; the trainer takes the mean.

        Default: integer labels [batch] against logits [batch, classes] give sparse categorical
        cross-entropy; anything else the squared error, averaged over all but the batch.
        """
        import tensorflow as tf

        if labels.dtype.is_integer and outputs.shape.rank == labels.shape.rank + 1:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
        error = tf.math.squared_difference(tf.cast(labels, outputs.dtype), outputs)
        return tf.reduce_mean(tf.reshape(error, [tf.shape(error)[0], -1]), axis=1)

    def metrics(self, labels: Any, outputs: Any) -> Mapping[str, Any]:
        """Named tensors of shape [batch]; their means while training go to TensorBoard."""
        return {}

    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        """Measures by name, with the trained weights in a plain model.

        On the chief once at the end; in an evaluator, where there is one, for every checkpoint.
        """
        return {}

    def after_train(self, ctx: Context, model: Any) -> None:
        """Runs once on the chief after the final checkpoint, evaluation and export."""
