"""The server's files, read: models.config by its own class, the others field by field."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, text_format
from google.protobuf import wrappers_pb2 as wrappers
from tensorflow_serving.config import model_server_config_pb2 as official

from tests.chart.tf_serving.features import EVERYTHING, FEATURES, LEAST, SOURCES
from tests.chart.tf_serving.helm import one, render, with_least

INT64 = ".google.protobuf.Int64Value"
FIELD = descriptor_pb2.FieldDescriptorProto
# servables/tensorflow/session_bundle_config.proto and config/monitoring_config.proto of TensorFlow
# Serving 2.21: a field's number, its type and, of a message, which. No package has their classes.
SHAPES: dict[str, dict[str, tuple[int, int, str]]] = {
    "BatchingParameters": {
        "max_batch_size": (1, FIELD.TYPE_MESSAGE, INT64),
        "batch_timeout_micros": (2, FIELD.TYPE_MESSAGE, INT64),
        "max_enqueued_batches": (3, FIELD.TYPE_MESSAGE, INT64),
        "num_batch_threads": (4, FIELD.TYPE_MESSAGE, INT64),
        "thread_pool_name": (5, FIELD.TYPE_MESSAGE, ".google.protobuf.StringValue"),
        "allowed_batch_sizes": (6, FIELD.TYPE_INT64, ""),
        "pad_variable_length_inputs": (7, FIELD.TYPE_BOOL, ""),
        "enable_large_batch_splitting": (8, FIELD.TYPE_MESSAGE, ".google.protobuf.BoolValue"),
        "max_execution_batch_size": (9, FIELD.TYPE_MESSAGE, INT64),
    },
    "PrometheusConfig": {
        "enable": (1, FIELD.TYPE_BOOL, ""),
        "path": (2, FIELD.TYPE_STRING, ""),
    },
    "MonitoringConfig": {
        "prometheus_config": (1, FIELD.TYPE_MESSAGE, ".tensorflow.serving.PrometheusConfig"),
    },
}


def parsed(name: str, text: str) -> Any:
    """A message of SHAPES, read from its text form. Raises text_format.ParseError."""
    file = descriptor_pb2.FileDescriptorProto(
        name="shapes.proto",
        package="tensorflow.serving",
        syntax="proto3",
        dependency=[wrappers.DESCRIPTOR.name],
    )
    for shape, fields in SHAPES.items():
        made = file.message_type.add(name=shape)
        for field, (number, kind, of) in fields.items():
            sizes = field == "allowed_batch_sizes"
            label = FIELD.LABEL_REPEATED if sizes else FIELD.LABEL_OPTIONAL
            made.field.add(name=field, number=number, type=kind, label=label, type_name=of or None)
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(wrappers.DESCRIPTOR.serialized_pb)
    pool.AddSerializedFile(file.SerializeToString())
    found = pool.FindMessageTypeByName(f"tensorflow.serving.{name}")
    return text_format.Parse(text, message_factory.GetMessageClass(found)())


def files(values: dict[str, Any]) -> dict[str, str]:
    rendered = render(values)
    (config,) = rendered.all("ConfigMap")
    return dict(config["data"])


def models(values: dict[str, Any]) -> dict[str, Any]:
    """The models of models.config by name, as the server's own class reads them."""
    read = text_format.Parse(files(values)["models.config"], official.ModelServerConfig())
    return {model.name: model for model in read.model_config_list.config}


@pytest.mark.parametrize("feature", FEATURES)
def test_the_servers_own_class_reads_every_models_config(feature: str) -> None:
    found = models(FEATURES[feature])
    assert set(found) == set(FEATURES[feature]["models"])
    assert {model.model_platform for model in found.values()} == {"tensorflow"}


def test_it_reads_what_the_values_say() -> None:
    found = models(SOURCES)
    assert {name: model.base_path for name, model in found.items()} == {
        "trained": "/claims/digits-log/digits/1/export",
        "better": "/claims/team-log/old/b/best",
        "published": "/claims/models/teams/vision",
        "root": "/claims/models",
        "packed": "/models/packed",
        "fetched.1": "/models/fetched.1",
    }
    policies = {name: model.model_version_policy for name, model in found.items()}
    assert policies["trained"].latest.num_versions == 1
    assert policies["packed"].latest.num_versions == 2
    assert list(policies["published"].specific.versions) == [3, 1000000]
    assert policies["root"].WhichOneof("policy_choice") == "all"
    labels = {name: dict(model.version_labels) for name, model in found.items()}
    assert labels.pop("published") == {"stable": 3, "canary": 1000000}
    assert set(map(str, labels.values())) == {"{}"}


def test_the_class_refuses_a_typing_error() -> None:
    text = files(LEAST)["models.config"].replace("base_path", "base_pat")
    with pytest.raises(text_format.ParseError, match="base_pat"):
        text_format.Parse(text, official.ModelServerConfig())


def test_every_model_has_a_line_for_the_check_that_says_the_same() -> None:
    found = models(SOURCES)
    lines = {}
    for line in files(SOURCES)["paths"].splitlines():
        name, base, policy, *versions = line.split()
        lines[name] = (policy, [int(version) for version in versions])
        assert base == found[name].base_path
    assert lines == {
        "trained": ("latest", [1]),
        "better": ("latest", [1]),
        "published": ("specific", [3, 1000000]),
        "root": ("all", []),
        "packed": ("latest", [2]),
        "fetched.1": ("latest", [1]),
    }


def test_batching_config_has_the_servers_fields_and_types() -> None:
    read = parsed("BatchingParameters", files(EVERYTHING)["batching.config"])
    assert read.max_batch_size.value == 128
    assert read.batch_timeout_micros.value == 1_000_000
    assert read.max_enqueued_batches.value == 4
    assert read.num_batch_threads.value == 3
    assert list(read.allowed_batch_sizes) == [1, 8, 128]
    assert read.pad_variable_length_inputs is True


def test_batch_threads_follow_the_cpu_request() -> None:
    values = with_least({"batching": {"enabled": True}, "resources": {"requests": {"cpu": 4}}})
    read = parsed("BatchingParameters", files(values)["batching.config"])
    assert read.num_batch_threads.value == 4
    assert list(read.allowed_batch_sizes) == []
    assert read.pad_variable_length_inputs is False


def test_monitoring_config_has_the_servers_fields_and_types() -> None:
    read = parsed("MonitoringConfig", files(EVERYTHING)["monitoring.config"])
    assert read.prometheus_config.enable is True
    assert read.prometheus_config.path == "/metrics"
    monitor = one(render(EVERYTHING), "PodMonitor", "vision")["spec"]
    assert monitor["podMetricsEndpoints"][0]["path"] == "/metrics"


def test_a_field_that_the_server_does_not_have_is_refused() -> None:
    with pytest.raises(text_format.ParseError, match="max_batch"):
        parsed("BatchingParameters", "max_batch { value: 1 }")
    with pytest.raises(text_format.ParseError):
        parsed("BatchingParameters", "max_batch_size: 1")


def test_what_is_off_has_no_file() -> None:
    assert set(files(FEATURES["bare"])) == {"models.config", "paths", "check.sh"}
