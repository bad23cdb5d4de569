"""The gRPC services, on the official stubs. What is not here answers UNIMPLEMENTED."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.serving.stand_in import HEADER, HEADER_WORDS, metrics
from tests.serving.stand_in.core import Core
from tests.serving.stand_in.metrics import Metrics
from tests.serving.stand_in.served import Served
from tests.serving.stand_in.status import CODES, StatusError, invalid

SIGNATURES = "signature_def"
_LONGEST_SECONDS = 2e6  # whoever gives no deadline has one that no number of milliseconds holds


def server(core: Core[Served], found: Metrics, port: int, threads: int, arguments: str) -> Any:
    """A gRPC server that listens. Raises StatusError where it can't."""
    options: list[tuple[str, Any]] = [
        ("grpc.max_receive_message_length", -1),
        ("grpc.max_send_message_length", -1),
        ("grpc.so_reuseport", 0),
    ]
    for argument in filter(None, arguments.split(",")):
        name, equals, value = argument.partition("=")
        if not equals:
            raise invalid(f"--grpc_channel_arguments: {argument!r} is no name=value")
        options.append((name, int(value) if value.lstrip("-").isdecimal() else value))
    made = grpc.server(ThreadPoolExecutor(threads), interceptors=[_SaysWhatItIs()], options=options)
    prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
        Prediction(core, found), made
    )
    model_service_pb2_grpc.add_ModelServiceServicer_to_server(Models(core), made)
    try:
        made.add_insecure_port(f"0.0.0.0:{port}")
    except RuntimeError as error:
        raise invalid("Failed to BuildAndStart gRPC server") from error
    made.start()
    return made


class _SaysWhatItIs(grpc.ServerInterceptor):
    """Puts the stand-in's header into every answer."""

    def intercept_service(self, continuation: Callable[..., Any], details: Any) -> Any:
        handler = continuation(details)
        if handler is None or not handler.unary_unary:
            return handler

        def answer(request: Any, context: Any) -> Any:
            context.send_initial_metadata(((HEADER, HEADER_WORDS),))
            return handler.unary_unary(request, context)

        return grpc.unary_unary_rpc_method_handler(
            answer, handler.request_deserializer, handler.response_serializer
        )


@contextmanager
def _aborts(context: Any) -> Iterator[None]:
    """Turn a StatusError into the call's end."""
    try:
        yield
    except StatusError as error:
        context.abort(_code(error), error.short)


def _code(error: StatusError) -> Any:
    return next(code for code in grpc.StatusCode if code.value[0] == error.number)


class Prediction(prediction_service_pb2_grpc.PredictionServiceServicer):  # type: ignore[misc]
    """Predict and GetModelMetadata."""

    def __init__(self, core: Core[Served], found: Metrics) -> None:
        self._core, self._metrics = core, found

    def Predict(self, request: predict_pb2.PredictRequest, context: Any) -> Any:  # noqa: N802
        began, name, status = time.monotonic(), request.model_spec.name, "OK"
        left = min(context.time_remaining() or 0, _LONGEST_SECONDS)
        try:
            with _aborts(context):
                try:
                    answer = predicted(self._core, request, int(left * 1000))
                except StatusError as error:
                    status = error.code
                    raise
            took = time.monotonic() - began
            self._metrics.time(metrics.LATENCY, took, name, "Predict", "GRPC")
            return answer
        finally:
            self._metrics.count(metrics.REQUESTS, name, status)

    def GetModelMetadata(  # noqa: N802
        self, request: get_model_metadata_pb2.GetModelMetadataRequest, context: Any
    ) -> Any:
        with _aborts(context):
            return metadata(self._core, request)


class Models(model_service_pb2_grpc.ModelServiceServicer):  # type: ignore[misc]
    """GetModelStatus and HandleReloadConfigRequest."""

    def __init__(self, core: Core[Served]) -> None:
        self._core = core

    def GetModelStatus(  # noqa: N802
        self, request: get_model_status_pb2.GetModelStatusRequest, context: Any
    ) -> Any:
        with _aborts(context):
            return status_of(self._core, request)

    def HandleReloadConfigRequest(  # noqa: N802
        self, request: model_management_pb2.ReloadConfigRequest, context: Any
    ) -> Any:
        with _aborts(context):
            try:
                if request.config.WhichOneof("config") != "model_config_list":
                    raise invalid(
                        "ServerModelConfig type not supported by HandleReloadConfigRequest. Only "
                        "ModelConfigList is currently supported"
                    )
                self._core.reload(request.config)
            except StatusError as error:
                print(f"ReloadConfig failed: {error.words}", file=sys.stderr, flush=True)
                raise
        return model_management_pb2.ReloadConfigResponse()


def predicted(
    core: Core[Served], request: predict_pb2.PredictRequest, timeout_ms: int
) -> predict_pb2.PredictResponse:
    """The answer of the version that the request asks for. Raises StatusError."""
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    with core.held(request.model_spec) as (_, model):
        return model.predict(request, timeout_ms)


def metadata(
    core: Core[Served], request: get_model_metadata_pb2.GetModelMetadataRequest
) -> get_model_metadata_pb2.GetModelMetadataResponse:
    """The signatures of a version (get_model_metadata_impl.cc). Raises StatusError."""
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    if not request.metadata_field:
        raise invalid("GetModelMetadataRequest must specify at least one metadata_field")
    for field in request.metadata_field:
        if field != SIGNATURES:
            raise invalid(f"Metadata field {field} is not supported")
    answer = get_model_metadata_pb2.GetModelMetadataResponse()
    found = get_model_metadata_pb2.SignatureDefMap()
    with core.held(request.model_spec) as (version, model):
        answer.model_spec.name = request.model_spec.name
        answer.model_spec.version.value = version
        for name, signature in model.session.signatures.items():
            found.signature_def[name].CopyFrom(signature)
    answer.metadata[SIGNATURES].Pack(found)
    return answer


def status_of(
    core: Core[Served], request: get_model_status_pb2.GetModelStatusRequest
) -> get_model_status_pb2.GetModelStatusResponse:
    """The states of versions; a label is not looked at (get_model_status_impl.cc).

    Raises StatusError for a model or a version that never was.
    """
    if not request.HasField("model_spec"):
        raise invalid("Missing ModelSpec")
    spec = request.model_spec
    found = core.states.versions(spec.name)
    if spec.HasField("version"):
        number = spec.version.value
        if number not in found:
            words = f"Could not find version {number} of model {spec.name}"
            raise StatusError("NOT_FOUND", words)
        found = {number: found[number]}
    elif not found:
        raise StatusError("NOT_FOUND", f"Could not find any versions of model {spec.name}")
    answer = get_model_status_pb2.GetModelStatusResponse()
    for number, seen in found.items():
        one = answer.model_version_status.add(version=number, state=int(seen.state))
        one.status.error_code = CODES.index(seen.error.code) if seen.error else 0
        one.status.error_message = seen.error.words if seen.error else ""
    return answer
