"""The three files of the server in protobuf's text form, read strictly: a typo is refused.

tensorflow-serving-api has the class of models.config only. Those of batching.config and
monitoring.config are made here, field by field, as
servables/tensorflow/session_bundle_config.proto and config/monitoring_config.proto have them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message,
    message_factory,
    text_format,
    wrappers_pb2,
)
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tests.serving.stand_in.status import StatusError, invalid

PACKAGE = "tensorflow.serving"
_INT64, _BOOL, _STRING = "google.protobuf.Int64Value", "bool", "string"
BATCHING: dict[str, tuple[int, str]] = {
    "max_batch_size": (1, _INT64),
    "batch_timeout_micros": (2, _INT64),
    "max_enqueued_batches": (3, _INT64),
    "num_batch_threads": (4, _INT64),
    "thread_pool_name": (5, "google.protobuf.StringValue"),
    "allowed_batch_sizes": (6, "repeated int64"),
    "pad_variable_length_inputs": (7, _BOOL),
    "enable_large_batch_splitting": (8, "google.protobuf.BoolValue"),
    "max_execution_batch_size": (9, _INT64),
}
PROMETHEUS: dict[str, tuple[int, str]] = {"enable": (1, _BOOL), "path": (2, _STRING)}
MONITORING: dict[str, tuple[int, str]] = {"prometheus_config": (1, f"{PACKAGE}.PrometheusConfig")}

Message = TypeVar("Message", bound=message.Message)


def models(path: str) -> ModelServerConfig:
    """The models to serve. Raises StatusError."""
    return read(path, ModelServerConfig())


def batching(path: str) -> Any:
    """The parameters of batching. Raises StatusError."""
    return read(path, classes()["BatchingParameters"]())


def monitoring(path: str) -> Any:
    """Whether there are metrics, and where. Raises StatusError."""
    return read(path, classes()["MonitoringConfig"]())


def read(path: str, into: Message) -> Message:
    """A file in text form (util/proto_util.h). Raises StatusError."""
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise StatusError("NOT_FOUND", f"{path}; {error.strerror}") from error
    try:
        text_format.Parse(text, into)
    except text_format.ParseError as error:
        name = into.DESCRIPTOR.full_name
        print(f"Error parsing text-format {name}: {error}", file=sys.stderr, flush=True)
        raise invalid(f"Invalid protobuf file: '{path}'") from error
    return into


def classes() -> dict[str, Any]:
    """The message classes that are in no package, by their names."""
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers_pb2.DESCRIPTOR.serialized_pb)
    file = descriptor_pb2.FileDescriptorProto(
        name="stand_in.proto",
        package=PACKAGE,
        syntax="proto3",
        dependency=[wrappers_pb2.DESCRIPTOR.name],
    )
    shapes = {
        "BatchingParameters": BATCHING,
        "PrometheusConfig": PROMETHEUS,
        "MonitoringConfig": MONITORING,
    }
    for name, shape in shapes.items():
        made = file.message_type.add(name=name)
        for field, (number, kind) in shape.items():
            _add(made, field, number, kind)
    pool.AddSerializedFile(file.SerializeToString())
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{PACKAGE}.{name}"))
        for name in shapes
    }


def _add(made: descriptor_pb2.DescriptorProto, field: str, number: int, kind: str) -> None:
    word = descriptor_pb2.FieldDescriptorProto
    one = made.field.add(name=field, number=number, label=word.LABEL_OPTIONAL)
    if kind.startswith("repeated "):
        one.label = word.LABEL_REPEATED
    plain = {"int64": word.TYPE_INT64, _BOOL: word.TYPE_BOOL, _STRING: word.TYPE_STRING}
    if number_of := plain.get(kind.removeprefix("repeated ")):
        one.type = number_of
    else:
        one.type, one.type_name = word.TYPE_MESSAGE, f".{kind}"
