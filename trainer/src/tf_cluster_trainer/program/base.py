"""The user's contract: one base class, whose hooks define what to train.

This module imports TensorFlow only when a default hook runs, so the supervisor may import it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tf_cluster_trainer.program.context import Context


class Program:
    """Subclass this; `build_model` and `dataset` are required.

    The same subclass runs with every strategy. Its constructor takes no arguments. The trainer
    calls `build_model` and `dataset` more than once (evaluation and export use a plain copy of the
    model), so they must return the same each time. TensorFlow types are written Any, because
    TensorFlow has no stubs.
    """

    flags: type | None = None
    """A frozen dataclass of the program's own settings: each a name, a type and a default.

    The trainer checks the run's flags against it before anything trains; `ctx.flags` is an
    instance. None: the program declares nothing, and `ctx.flags` has the run's flags, whatever they
    are.
    """

    shuffle_buffer: int | None = None
    """Size of the shuffle buffer in examples; None: as many as fit in 64 MiB, at most 10,000."""

    requests_in_export: bool = True
    """Whether an export holds examples of the data: the requests that TensorFlow Serving warms up
    with (`batchSize` rows), and one with its answer (tf-cluster.json). False: it holds none.
    """

    def build_model(self, ctx: Context) -> Any:
        """Return a tf_keras.Model that takes a batch of features, as `dataset` gives them."""
        raise NotImplementedError

    def dataset(self, ctx: Context, input_context: Any) -> Any:
        """Return a tf.data.Dataset of single examples `(features, labels)`, not batched or
        repeated.

        The trainer shuffles (each task in its own order), repeats and batches. `input_context` is
        TensorFlow's tf.distribute.InputContext where the strategy has one. With parameter servers
        it always says one pipeline; use `ctx.data_shard` there.
        """
        raise NotImplementedError

    def loss(self, labels: Any, outputs: Any) -> Any:
        """Return the loss of each example, a float tensor [batch]; the trainer takes the mean.

        Default: integer labels [batch] against logits [batch, classes] give sparse categorical
        cross-entropy; anything else the squared error, averaged over all but the batch.
        """
        import tensorflow as tf

        if labels.dtype.is_integer and outputs.shape.rank == labels.shape.rank + 1:
            return tf.nn.sparse_softmax_cross_entropy_with_logits(labels, outputs)
        error = tf.math.squared_difference(tf.cast(labels, outputs.dtype), outputs)
        return tf.reduce_mean(tf.reshape(error, [tf.shape(error)[0], -1]), axis=1)

    def metrics(self, labels: Any, outputs: Any) -> Mapping[str, Any]:
        """Return named tensors [batch]; their means during training go to TensorBoard."""
        return {}

    def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
        """Return measures by name. `model` is plain and has the trained weights.

        The chief calls it once at the end; an evaluator, if there is one, calls it for every
        checkpoint.
        """
        return {}

    def signatures(self, ctx: Context, model: Any) -> Mapping[str, Any]:
        """Return more signatures of the export, beside `serving_default`: functions by name.

        Each is a tf.function with an `input_signature` of named tensors, and returns a tensor or a
        mapping of names to tensors. It may use `model`, which is plain, and tables made here. The
        trainer traces all of them before it trains.
        """
        return {}

    def after_train(self, ctx: Context, model: Any) -> None:
        """Run once on the chief, after the final checkpoint, evaluation and export."""
