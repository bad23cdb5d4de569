"""What a version's warm-up holds: a server that batches takes no request above its batches' size.

The fields are those of apis/prediction_log.proto and predict.proto of tensorflow/serving, and of
tensorflow/core/framework/tensor.proto.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tf_cluster_trainer.serving.saved_model import shape_of
from tf_cluster_trainer.wire import WireError, all_bytes

_PREDICT_LOG, _REQUEST, _INPUTS, _VALUE, _SHAPE = 6, 1, 2, 2, 2
_LENGTH, _CHECKSUM = 8, 4


def rows(file: Path) -> list[int | None]:
    """The rows of each request, None where its first input is no tensor with rows.

    Raises WireError where the file ends too soon, and OSError.
    """
    return [next(_rows(record), None) for record in _records(file.read_bytes())]


def _records(content: bytes) -> Iterator[bytes]:
    """The records of a file of TFRecords: each a length, a checksum, so many bytes, a checksum."""
    at = 0
    while at < len(content):
        begin = at + _LENGTH + _CHECKSUM
        size = int.from_bytes(content[at : at + _LENGTH], "little")
        at = begin + size + _CHECKSUM
        if at > len(content):
            raise WireError("a record that ends too soon")
        yield content[begin : begin + size]


def _rows(record: bytes) -> Iterator[int]:
    for log in all_bytes(record, _PREDICT_LOG):
        for request in all_bytes(log, _REQUEST):
            for entry in all_bytes(request, _INPUTS):
                for tensor in all_bytes(entry, _VALUE):
                    for shape in all_bytes(tensor, _SHAPE):
                        sizes = shape_of(shape)
                        if sizes and sizes[0] is not None:
                            yield sizes[0]
