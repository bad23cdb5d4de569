"""The file of requests that TensorFlow Serving sends to a version before it serves it.

It holds records of `tensorflow.serving.PredictionLog`. Its classes come with a package of which the
trainer needs nothing else, so that its few fields are written here; a test reads them with the
official ones. A request that fails keeps the server from loading the version, so each of them was
tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer import wire

# apis/prediction_log.proto, predict.proto and model.proto of tensorflow/serving 2.21.0.
_PREDICT_LOG, _REQUEST, _MODEL, _INPUTS, _NAME, _SIGNATURE = 6, 1, 1, 2, 1, 3
_KEY, _VALUE = 1, 2


def write(path: Path, model: str, signature: str, requests: Iterable[Mapping[str, Any]]) -> None:
    """Write them: inputs by name. Raises OSError.

    `model` is for people: the server looks at the signature alone.
    """
    try:
        with tf.io.TFRecordWriter(str(path)) as file:
            for request in requests:
                file.write(prediction_log(model, signature, request))
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {error.message}") from error


def prediction_log(model: str, signature: str, inputs: Mapping[str, Any]) -> bytes:
    """A PredictionLog with one PredictRequest."""
    spec = wire.of_bytes(_NAME, model.encode()) + wire.of_bytes(_SIGNATURE, signature.encode())
    request = wire.of_bytes(_MODEL, spec)
    for name, value in sorted(inputs.items()):
        tensor = tf.make_tensor_proto(value).SerializeToString()
        entry = wire.of_bytes(_KEY, name.encode()) + wire.of_bytes(_VALUE, tensor)
        request += wire.of_bytes(_INPUTS, entry)
    return wire.of_bytes(_PREDICT_LOG, wire.of_bytes(_REQUEST, request))
