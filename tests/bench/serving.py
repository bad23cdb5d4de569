"""The first request after a version was loaded, with the warm-up requests in it and without.

Against the stand-in of tests/serving: the model runs in the true server's C++ sessions, but the
server around them is the stand-in's, as the row says. With SERVING_BINARY it is a look at the true
one, and no figure for the page.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from tests.bench.measure import Measure, Sample
from tests.bench.pairs import in_pairs
from tests.bench.rows import Bar, Ratio

COLUMNS = ("with warm-up", "without")
BATCH = 64


def _take(count: int) -> Iterator[Sample]:
    """One pair of servers each: both load the same export of digits, and are asked once."""
    with tempfile.TemporaryDirectory() as folder:
        versions = {warms: _exported(Path(folder) / f"{warms}", warms) for warms in (True, False)}
        yield from in_pairs(
            partial(_first_request, Path(folder), versions[True]),
            partial(_first_request, Path(folder), versions[False]),
            count,
            COLUMNS,
        )


def _exported(base: Path, warms: bool) -> Path:
    """The directory of a model with one version, as the trainer exports it."""
    from tests.serving.exports import digits

    version, _ = digits(base)
    extra = version / "assets.extra"
    shutil.rmtree(extra, ignore_errors=True)  # the same requests in both, or none
    if warms:
        _warm_up(extra)
    return base


def _warm_up(extra: Path) -> None:
    """A request of one row and one of a whole batch, as a training's."""
    import tensorflow as tf
    from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

    extra.mkdir()
    with tf.io.TFRecordWriter(str(extra / "tf_serving_warmup_requests")) as writer:
        for rows in (1, BATCH):
            log = PredictionLog()
            log.predict_log.request.CopyFrom(_request(rows))
            writer.write(log.SerializeToString())


def _request(rows: int) -> Any:
    import numpy as np

    from tests.serving.exports import INPUT, SHAPE
    from tests.serving.server import request

    return request(inputs={INPUT: np.ones((rows, *SHAPE), np.float32)})


def _first_request(folder: Path, base: Path) -> float:
    """Milliseconds of a new server's first answer, on a connection that is there already."""
    import grpc
    from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
    from tensorflow_serving.apis.model_service_pb2_grpc import ModelServiceStub
    from tensorflow_serving.apis.prediction_service_pb2_grpc import PredictionServiceStub

    from tests.serving.server import of, serving

    asked, status = _request(1), GetModelStatusRequest()
    status.model_spec.name = "m"
    with (
        serving(folder, *of(base)) as server,
        grpc.insecure_channel(server.grpc_address) as channel,
    ):
        ModelServiceStub(channel).GetModelStatus(status, timeout=60, wait_for_ready=True)
        predict = PredictionServiceStub(channel).Predict
        began = time.perf_counter()
        predict(asked, timeout=60)
        return 1000 * (time.perf_counter() - began)


MEASURES = {
    "serving-first-request": Measure(
        _take,
        15,
        3,
        dict.fromkeys(COLUMNS, "ms"),
        [
            Ratio(
                "first request after a load (digits, one row), with warm-up requests in the export",
                "the same without them; served by the tests' stand-in for TensorFlow Serving",
                Bar("≤ 0.25 ×", 0.25),
                COLUMNS,
            )
        ],
    )
}
