"""What a client asks and is answered, by gRPC and by REST."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.serving.server import IS_STAND_IN, Server, request
from tests.serving.stand_in import HEADER, HEADER_WORDS
from tests.serving.stand_in.json_tensors import decimal

ONES = [[1, 1, 1]]
INVALID, NOT_FOUND = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.NOT_FOUND
FAILED_PRECONDITION = grpc.StatusCode.FAILED_PRECONDITION


@pytest.fixture(scope="module")
def channel(two_versions: Server) -> Iterator[grpc.Channel]:
    with grpc.insecure_channel(two_versions.grpc_address) as channel:
        yield channel


def refused(server: Server, **more: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.RpcError) as caught:
        server.predict(**more)
    return caught.value.code(), str(caught.value.details())


def test_every_answer_names_the_version_that_gave_it(two_versions: Server) -> None:
    for more, version in (
        ({}, 2),
        ({"version": 1}, 1),
        ({"label": "stable"}, 1),
        ({"label": "canary"}, 2),
    ):
        answer = two_versions.predict(**more)
        assert answer.model_spec.version.value == version
        assert answer.model_spec.name == "m"
        assert answer.model_spec.signature_name == "serving_default"
        assert two_versions.scale(**more) == version + 1


@pytest.mark.parametrize(
    ("path", "version"),
    [("", 2), ("/versions/1", 1), ("/labels/stable", 1), ("/labels/canary", 2)],
)
def test_rest_serves_versions_and_labels(two_versions: Server, path: str, version: int) -> None:
    answer = two_versions.rest(f"/v1/models/m{path}:predict", {"instances": ONES})
    assert answer.status == 200
    assert answer.document == {"predictions": [[version + 1.0] * 3]}


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"model": "other"}, NOT_FOUND, "Servable not found for request: Latest(other)"),
        ({"model": ""}, INVALID, "ModelSpec has no name specified."),
        ({"version": 7}, NOT_FOUND, "Servable not found for request: Specific(m, 7)"),
        ({"label": "beta"}, INVALID, "Unrecognized servable version label: beta"),
        (
            {"signature": "other"},
            FAILED_PRECONDITION,
            'Serving signature key "other" not found.',
        ),
        (
            {"inputs": {"z": [1.0]}},
            INVALID,
            "Signature input alias: x(feed name: serving_default_x:0) not found in request and no "
            "default value provided. Inputs expected to be in the request {z}, or default input "
            "alias set: ",
        ),
        (
            {"inputs": {}},
            INVALID,
            "input size does not match signature: 0!=1 len({}) != len({x}). Sent extra: {}. "
            "Missing but required: {x}.",
        ),
        (
            {"values": np.ones((1, 3), np.float64)},
            INVALID,
            "Expects arg[0] to be float but double is provided",
        ),
    ],
)
def test_grpc_says_what_is_wrong(
    two_versions: Server, more: dict[str, Any], code: grpc.StatusCode, words: str
) -> None:
    assert refused(two_versions, **more) == (code, words)


def test_a_value_of_a_wrong_shape_is_the_runtimes_own_error(two_versions: Server) -> None:
    inputs = {"a": np.ones(2, np.float32), "b": np.ones(3, np.int64)}
    code, words = refused(two_versions, signature="named", inputs=inputs)
    assert code == INVALID
    assert re.search(r"Incompatible shapes: \[[23]\] vs. \[[23]\]", words)


def test_grpc_takes_no_integer_for_a_float_and_rest_does(two_versions: Server) -> None:
    code, words = refused(two_versions, values=np.ones((1, 3), np.int64))
    assert (code, words) == (INVALID, "Expects arg[0] to be float but int64 is provided")
    assert two_versions.rest("/v1/models/m:predict", {"instances": ONES}).status == 200


def test_grpc_gives_the_outputs_that_are_asked_for(channel: grpc.Channel) -> None:
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    asked = request(signature="named", inputs={"a": [1.5], "b": np.ones(1, np.int64)})
    assert set(stub.Predict(asked, timeout=60).outputs) == {"sum", "b"}
    asked.output_filter.append("sum")
    answer = stub.Predict(asked, timeout=60)
    assert {name: tf.make_ndarray(one).tolist() for name, one in answer.outputs.items()} == {
        "sum": [2.5]
    }
    asked.output_filter.append("other")
    with pytest.raises(grpc.RpcError) as caught:
        stub.Predict(asked, timeout=60)
    assert "output tensor alias not found in signature: other" in str(caught.value.details())


def test_strings_come_back_as_they_were_sent(two_versions: Server) -> None:
    words = [b"a", b"", b"\x00\xff" * 40, "ß".encode()]
    answer = two_versions.predict(signature="words", inputs={"text": words})
    assert tf.make_ndarray(answer.outputs["text"]).tolist() == words


def test_a_request_without_a_model_spec_is_refused(channel: grpc.Channel) -> None:
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    with pytest.raises(grpc.RpcError) as caught:
        stub.Predict(predict_pb2.PredictRequest(), timeout=60)
    assert caught.value.details() == "Missing ModelSpec"


def test_a_request_without_a_deadline_is_answered(channel: grpc.Channel) -> None:
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    assert stub.Predict(request()).model_spec.version.value == 2


def test_the_status_of_a_model_by_both(two_versions: Server, channel: grpc.Channel) -> None:
    found = two_versions.rest("/v1/models/m").document
    ok = {"error_code": "OK", "error_message": ""}
    expected = [{"version": f"{n}", "state": "AVAILABLE", "status": ok} for n in (1, 2)]
    key = lambda one: int(one["version"])  # noqa: E731
    assert sorted(found["model_version_status"], key=key) == expected
    one = two_versions.rest("/v1/models/m/versions/2").document
    assert one == {"model_version_status": [expected[1]]}
    stub = model_service_pb2_grpc.ModelServiceStub(channel)
    asked = get_model_status_pb2.GetModelStatusRequest()
    asked.model_spec.name = "m"
    states = {one.version: one.state for one in stub.GetModelStatus(asked).model_version_status}
    assert states == {1: 30, 2: 30}


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "words"),
    [
        ("GET", "/v1/models/other", None, 404, "Could not find any versions of model other"),
        ("GET", "/v1/models/m/versions/9", None, 404, "Could not find version 9 of model m"),
        ("GET", "/v1/models", None, 400, "Missing model name in request."),
        ("GET", "/v1/models/m:predict", None, 400, "Malformed request: GET /v1/models/m:predict"),
        ("POST", "/v1/models/m", {}, 400, "Malformed request: POST /v1/models/m"),
        (
            "POST",
            "/v1/models/m/labels/beta:predict",
            {"instances": ONES},
            400,
            "Unrecognized servable version label: beta",
        ),
        (
            "POST",
            "/v1/models/m/versions/9:predict",
            {"instances": ONES},
            404,
            "Servable not found for request: Specific(m, 9)",
        ),
        ("POST", "/v1/models/m:predict", {}, 400, "Missing 'inputs' or 'instances' key"),
        ("POST", "/v1/models/m:predict", b"", 400, "JSON Parse error: The document is empty"),
        (
            "POST",
            "/v1/models/m:predict",
            {"signature_name": "other", "instances": ONES},
            400,
            'Serving signature name: "other" not found in signature def',
        ),
        (
            "POST",
            "/v1/models/m:predict",
            {"inputs": [["a", 1, 1]]},
            400,
            'JSON Value: "a" Type: String is not of expected type: float',
        ),
        (
            "POST",
            "/v1/models/m:predict",
            {"signature_name": "named", "inputs": {"a": [1]}},
            400,
            "Missing named input: b in 'inputs' object.",
        ),
        (
            "POST",
            "/v1/models/m:predict",
            {"instances": [[1, 1, 1], [1, 1]]},
            400,
            "Failed to process element: 1 of 'instances' list. Error: INVALID_ARGUMENT: Expecting "
            "tensor size: 3 but got: 2",
        ),
    ],
)
def test_rest_says_what_is_wrong(
    two_versions: Server, method: str, path: str, body: Any, status: int, words: str
) -> None:
    answer = two_versions.rest(path, body, method)
    assert (answer.status, answer.error) == (status, words)


def test_what_rest_does_not_know_is_not_found(two_versions: Server) -> None:
    assert two_versions.rest("/v2/models/m").status == 404
    assert two_versions.rest("/healthz").status == 404


def test_rest_takes_and_gives_rows_and_columns(two_versions: Server) -> None:
    rows = {"signature_name": "named", "instances": [{"a": 1, "b": 2}, {"a": 0.1, "b": 3}]}
    expected = {"predictions": [{"sum": 3.0, "b": 2}, {"sum": 3.1, "b": 3}]}
    assert two_versions.rest("/v1/models/m:predict", rows).document == expected
    columns = {"signature_name": "named", "inputs": {"a": [1, 0.1], "b": [2, 3]}}
    assert two_versions.rest("/v1/models/m:predict", columns).document == {
        "outputs": {"sum": [3.0, 3.1], "b": [2, 3]}
    }
    words = {"signature_name": "words", "inputs": ["ab", {"b64": "Y2Q="}]}
    assert two_versions.rest("/v1/models/m:predict", words).document == {
        "outputs": {"text": ["ab", "cd"], "raw_bytes": [{"b64": "YWI="}, {"b64": "Y2Q="}]}
    }


def test_the_metadata_has_the_signatures(two_versions: Server, channel: grpc.Channel) -> None:
    found = two_versions.rest("/v1/models/m/metadata").document
    assert found["model_spec"]["version"] == "2"
    signature = found["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert [dim["size"] for dim in signature["inputs"]["x"]["tensor_shape"]["dim"]] == ["-1", "3"]
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    asked = get_model_metadata_pb2.GetModelMetadataRequest(metadata_field=["signature_def"])
    asked.model_spec.name = "m"
    asked.model_spec.version.value = 1
    answer = stub.GetModelMetadata(asked, timeout=60)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    answer.metadata["signature_def"].Unpack(signatures)
    assert signatures.signature_def["serving_default"].outputs["y"].dtype == 1
    asked.metadata_field[:] = ["other"]
    with pytest.raises(grpc.RpcError) as caught:
        stub.GetModelMetadata(asked, timeout=60)
    assert caught.value.details() == "Metadata field other is not supported"


def test_the_metrics_have_the_true_names(two_versions: Server) -> None:
    two_versions.predict()
    refused(two_versions, version=7)
    two_versions.rest("/v1/models/m:predict", {"instances": ONES})
    page = two_versions.rest("/monitoring/prometheus/metrics").text
    counts = dict(re.findall(r"^(:tensorflow:\S+\{.*\}) (\S+)$", page, re.MULTILINE))
    requests = ":tensorflow:serving:request_count"
    assert int(counts[f'{requests}{{model_name="m",status="OK"}}']) >= 2
    assert int(counts[f'{requests}{{model_name="m",status="NOT_FOUND"}}']) >= 1
    latency = ":tensorflow:serving:request_latency"
    for labels in ('API="Predict",entrypoint="GRPC"', 'API="predict",entrypoint="REST"'):
        assert int(counts[f'{latency}_count{{model_name="m",{labels}}}']) >= 1
        assert float(counts[f'{latency}_sum{{model_name="m",{labels}}}']) > 0
        assert f'{latency}_bucket{{model_name="m",{labels},le="+Inf"}}' in counts
    loads = [name for name in counts if "cc:saved_model:load_attempt_count" in name]
    assert {re.sub(r'="[^"]*/', '="', name) for name in loads} == {
        f':tensorflow:cc:saved_model:load_attempt_count{{model_path="{n}",status="success"}}'
        for n in (1, 2)
    }


@pytest.mark.skipif(not IS_STAND_IN, reason="the true server has no such header")
def test_every_answer_says_that_a_stand_in_gave_it(
    two_versions: Server, channel: grpc.Channel
) -> None:
    assert "this is not TensorFlow Serving" in two_versions.words.splitlines()[0]
    for path in ("/v1/models/m", "/v1/models/other", "/monitoring/prometheus/metrics", "/"):
        assert two_versions.rest(path).headers[HEADER] == HEADER_WORDS
    stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
    for one in (request(), request("other")):
        call = stub.Predict.future(one, timeout=60)
        assert (HEADER, HEADER_WORDS) in call.initial_metadata()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.2, "0.2"),
        (3, "3.0"),
        (9000000, "9e+06"),
        (1 / 3, "0.333333343"),
        (float("nan"), "NaN"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_a_float_is_written_with_as_few_digits_as_give_it_back(value: float, text: str) -> None:
    assert decimal(np.float32(value)) == text
