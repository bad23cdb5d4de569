"""A version that is loaded: its signatures, its runs, and how it came here."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tests.serving.stand_in import metrics, warmup
from tests.serving.stand_in.batching import Parameters, Queue
from tests.serving.stand_in.metrics import Metrics
from tests.serving.stand_in.runtime import Array, Library, Session
from tests.serving.stand_in.status import StatusError, invalid
from tests.serving.stand_in.tensors import proto_of
from tests.serving.stand_in.versions import log

DEFAULT_SIGNATURE = "serving_default"
_METHODS = ("predict", "classify", "regress")


@dataclass(frozen=True)
class Loader:
    """How this server loads versions. `config` is a serialized ConfigProto."""

    library: Library
    metrics: Metrics
    tags: Sequence[str]
    config: bytes
    warms_up: bool
    iterations: int
    checks_methods: bool
    batching: Parameters | None
    batches: ThreadPoolExecutor | None

    def load(self, name: str, version: int, path: str) -> Served:
        """Load a version and warm it up. Raises StatusError."""
        began = time.monotonic()
        try:
            session = Session(self.library, path, self.tags, self.config)
        except StatusError:
            self.metrics.count(metrics.LOADS, path, "fail")
            raise
        self.metrics.count(metrics.LOADS, path, "success")
        micros = int((time.monotonic() - began) * 1e6)
        self.metrics.count(metrics.LOAD_LATENCY, path, by=micros)
        served = Served(name, version, session, self.metrics, self.checks_methods)
        try:
            if self.warms_up:
                self._warm_up(served, Path(path))
        except StatusError:
            served.close()
            raise
        if self.batching and self.batches:
            served.batch(self.batching, self.batches)
        return served

    def _warm_up(self, served: Served, path: Path) -> None:
        began, number = time.monotonic(), 0
        for record in warmup.requests(path):
            for _ in range(self.iterations or 1):
                _replay(served, record)
            number += 1
        if not number:
            log(f"No warmup data file found at {path / warmup.FILE}")
            return
        self.metrics.time(metrics.WARMUPS, time.monotonic() - began, str(path), "OK")
        self.metrics.count(metrics.WARMUP_RECORDS, str(path), "OK", by=number)
        log(
            f"Finished reading warmup data for model at {path / warmup.FILE}. Number of warmup "
            f"records read: {number}."
        )


def _replay(served: Served, record: PredictionLog) -> None:
    kind = record.WhichOneof("log_type")
    if kind == "predict_log":
        served.predict(record.predict_log.request)
    elif kind in ("session_run_log", "predict_streamed_log"):
        number = record.DESCRIPTOR.fields_by_name[kind].number
        raise StatusError("UNIMPLEMENTED", f"Unsupported log_type for warmup: {number}")
    elif kind is not None:
        raise StatusError("UNIMPLEMENTED", f"the stand-in does not implement {kind}")


@dataclass
class Served:
    """A version in memory."""

    name: str
    version: int
    session: Session
    metrics: Metrics
    checks_methods: bool
    _queues: dict[str, Queue] = field(default_factory=dict)

    def batch(self, given: Parameters, pool: ThreadPoolExecutor) -> None:
        """From now on run requests in batches."""
        for name, signature in self.session.signatures.items():
            fetches = [info.name for info in signature.outputs.values()]
            self._queues[name] = Queue(self.session.run, fetches, given, pool)

    def predict(self, request: PredictRequest, timeout_ms: int = 0) -> PredictResponse:
        """The model's answer (servables/tensorflow/predict_util.cc). Raises StatusError."""
        name = request.model_spec.signature_name or DEFAULT_SIGNATURE
        signature = self.session.signatures.get(name)
        if signature is None:
            raise StatusError("FAILED_PRECONDITION", f'Serving signature key "{name}" not found.')
        if self.checks_methods and signature.method_name not in (
            f"tensorflow/serving/{one}" for one in _METHODS
        ):
            words = ", ".join(f"tensorflow/serving/{one}" for one in _METHODS)
            raise StatusError(
                "INTERNAL",
                f"Expected prediction signature method_name to be one of {{{words}}}. "
                f"Was: {signature.method_name}",
            )
        feeds = self._feeds(signature, request)
        outputs = _outputs(signature, request)
        began = time.monotonic()
        arrays = self._run(name, feeds, list(outputs.values()), timeout_ms)
        took = time.monotonic() - began
        self.metrics.time(metrics.RUNTIME, took, request.model_spec.name, "Predict", "TF1")
        answer = PredictResponse()
        answer.model_spec.name = request.model_spec.name
        answer.model_spec.signature_name = name
        answer.model_spec.version.value = self.version
        for alias, array in zip(outputs, arrays, strict=True):
            answer.outputs[alias].CopyFrom(proto_of(array))
        return answer

    def close(self) -> None:
        """Unload it."""
        for queue in self._queues.values():
            queue.close()
        self.session.close()

    def _run(
        self, name: str, feeds: Mapping[str, Array], fetches: list[str], timeout_ms: int
    ) -> list[Array]:
        queue = self._queues.get(name)
        if queue and fetches == queue.fetches:
            return queue.run(feeds)
        return self.session.run(feeds, fetches, _run_options(timeout_ms))

    def _feeds(self, signature: Any, request: PredictRequest) -> dict[str, Array]:
        asked, known = set(request.inputs), set(signature.inputs)
        if len(asked) > len(known) or (len(asked) < len(known) and not signature.defaults):
            raise invalid(
                f"input size does not match signature: {len(asked)}!={len(known)} "
                f"len({_set(asked)}) != len({_set(known)}). Sent extra: {_set(asked - known)}. "
                f"Missing but required: {_set(known - asked)}."
            )
        feeds: dict[str, Array] = {}
        for alias, info in signature.inputs.items():
            if alias not in request.inputs and alias not in signature.defaults:
                raise invalid(
                    f"Signature input alias: {alias}(feed name: {info.name}) not found in request "
                    "and no default value provided. Inputs expected to be in the request "
                    f"{_set(asked)}, or default input alias set: {','.join(signature.defaults)}"
                )
            given = request.inputs if alias in request.inputs else signature.defaults
            try:
                feeds[info.name] = self.session.array_of(given[alias].SerializeToString())
            except StatusError as error:
                raise invalid(f"tensor parsing error: {alias}") from error
        return feeds


def _outputs(signature: Any, request: PredictRequest) -> dict[str, str]:
    """The tensors to fetch, by what they are called. Raises StatusError."""
    found: dict[str, str] = {}
    for alias in request.output_filter:
        if alias not in signature.outputs:
            raise invalid(
                f"output tensor alias not found in signature: {alias} Outputs expected to be in "
                f"the set {_set(set(signature.outputs))}."
            )
        if alias in found:
            raise invalid(f"duplicate output tensor alias: {alias}")
        found[alias] = signature.outputs[alias].name
    return found or {alias: info.name for alias, info in signature.outputs.items()}


def _set(words: set[str]) -> str:
    return f"{{{','.join(sorted(words))}}}"


def _run_options(timeout_ms: int) -> bytes:
    from tensorflow.core.protobuf import config_pb2

    options: bytes = config_pb2.RunOptions(timeout_in_ms=timeout_ms).SerializeToString()
    return options
