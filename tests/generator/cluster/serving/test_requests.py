"""What a person sends, and what is printed for him to send: read back as its readers read it."""

from __future__ import annotations

import ast
import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster.serving.asking import Host
from tf_cluster.cluster.serving.calls import OPTIONS, Called, calls_text, curl, python
from tf_cluster.cluster.serving.exports import Export, Tensor
from tf_cluster.cluster.serving.request import MOST_BYTES, request_text
from tf_cluster.cluster.serving.servers import Server
from tf_cluster.exits import RefusedError

PAGE = Path(__file__).resolve().parents[4] / "docs" / "serving.md"
FILE = "digit.json"
IMAGE = {"image": Tensor("float32", (None, 2))}


def sent(document: Any, inputs: dict[str, Tensor] | None = None) -> Any:
    text = request_text(json.dumps(document).encode(), FILE, IMAGE if inputs is None else inputs)
    return json.loads(text)["request"]["inputs"]


@pytest.mark.parametrize(
    ("document", "tensor"),
    [
        ({"inputs": {"image": [[1, 2]]}}, ("float32", [1, 2], [[1, 2]])),
        (
            {"instances": [{"image": [1, 2]}, {"image": [3, 4]}]},
            ("float32", [2, 2], [[1, 2], [3, 4]]),
        ),
        (
            {"inputs": {"image": {"dtype": "float16", "shape": [1, 2], "values": [[2, 3]]}}},
            ("float16", [1, 2], [[2, 3]]),
        ),
    ],
)
def test_a_request_of_each_form_has_types_and_shapes(document: Any, tensor: Any) -> None:
    assert sent(document) == {"image": dict(zip(("dtype", "shape", "values"), tensor, strict=True))}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([True, False], "bool"),
        ([1, 2], "int64"),
        ([1, 2.5], "float32"),
        (["a"], "string"),
        ([{"b64": "AA=="}], "string"),
    ],
)
def test_an_input_that_the_model_has_not_is_sent_all_the_same(values: Any, dtype: str) -> None:
    """What is wrong with it is the server's to say, in its own words."""
    assert sent({"inputs": {"hat": values}})["hat"]["dtype"] == dtype


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"{", "digit.json: not JSON: "),
        (b"[]", "digit.json: no request: write"),
        (b'{"inputs": []}', "digit.json: no request: write"),
        (b'{"inputs": {}}', "digit.json: no request: write"),
        (b'{"instances": [1]}', "digit.json: no request: write"),
        (b'{"instances": [{"a": 1}, {"b": 1}]}', "instances do not all have the same inputs"),
        (
            b'{"inputs": {"image": [[1, 2], [3]]}}',
            "digit.json: image: its rows are not all",
        ),
        (b'{"inputs": {"image": 7}}', "its shape is [], and the model takes float32 [?, 2]"),
        (b'{"inputs": {"image": [[1, 2, 3]]}}', "its shape is [1, 3], and the model takes"),
        (b'{"inputs": {"image": {"dtype": "x"}}}', "image: a tensor is a list, or has dtype"),
        (b" " * (MOST_BYTES + 1), "send fewer rows"),
        (json.dumps({"inputs": {"text": "\ud800"}}).encode(), "is half a character"),
    ],
)
def test_what_is_no_request_is_refused_with_its_place(raw: bytes, words: str) -> None:
    with pytest.raises(RefusedError) as refused:
        request_text(raw, FILE, IMAGE)
    assert words in str(refused.value)


SERVER = Server("vision", "digits-serving", "digits-serving")
HOST = Host("digits-serving.vision.svc", 8500, 8501)
DTYPES = ("float32", "float64", "int64", "uint8", "bool", "string")


def drawn(seed: int) -> Export:
    """A version whose inputs have drawn names, types and shapes; some have a recorded request."""
    draw = random.Random(seed)
    inputs, recorded = {}, {}
    for name in draw.sample(
        ["image", "user_id", "größe", "features_1", "it's"], draw.randint(1, 3)
    ):
        dtype = draw.choice(DTYPES)
        shape = tuple(draw.choice([None, 1, 2, 3, 700]) for _ in range(draw.randint(0, 3)))
        inputs[name] = Tensor(dtype, draw.choice([shape, shape, shape, None]))
        value: Any = {"bool": True, "string": {"b64": "aGk="}}.get(dtype, draw.randint(0, 9))
        recorded[name] = {"dtype": dtype, "shape": [1], "values": [value]}
    request = {"inputs": recorded} if draw.random() < 0.5 else None
    return Export(3, 9, "2.21.0", inputs=inputs, request=request)


@pytest.mark.parametrize("seed", range(60))
def test_a_printed_call_is_what_shells_and_python_read(seed: int) -> None:
    export = drawn(seed)
    one = Called(SERVER, "digits", export, HOST, random.Random(seed).choice(["", "stable"]))
    program = ast.parse(python(one))
    named = {
        node.slice.value
        for node in ast.walk(program)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
    }
    assert set(export.inputs) <= named
    assert ("version_label" in python(one)) == bool(one.label)
    shell = f"curl() {{ cat; printf '%s\\n' \"$@\"; }}\n{curl(one)}"
    done = subprocess.run(
        ("sh", "-c", shell), input="", capture_output=True, text=True, check=True, timeout=60
    )
    label = "/labels/stable" if one.label else ""
    url = f"http://digits-serving.vision.svc:8501/v1/models/digits{label}:predict"
    lines = [line for line in done.stdout.splitlines() if line not in ("--silent", "--data", "@-")]
    assert url in lines
    lines.remove(url)
    (body,) = lines
    found = json.loads(body)["inputs"]
    assert set(found) == set(export.inputs)
    for name, tensor in export.inputs.items():
        if export.request:
            assert found[name] == export.request["inputs"][name]["values"]
        else:
            lengths = [1 if length is None else length for length in tensor.shape or ()]
            assert _lengths(found[name]) == lengths


def _lengths(value: Any) -> list[int]:
    return [len(value), *_lengths(value[0])] if isinstance(value, list) else []


def test_what_is_printed_is_read_as_a_page() -> None:
    export = Export(3, 9, "2.21.0", inputs=IMAGE)
    text = calls_text(Called(SERVER, "digits", export, HOST, "stable"), "kubectl port-forward x")
    assert (
        text
        == """\
gRPC       digits-serving.vision.svc:8500; each pod: digits-serving-pods.vision.svc:8500
REST       http://digits-serving.vision.svc:8501/v1/models/digits/labels/stable
for        pods with the label tf-cluster.io/serving-client: digits-serving
elsewhere  kubectl port-forward x

# with curl
curl --silent --data '{"inputs":{"image":[[0.0,0.0]]}}' \
http://digits-serving.vision.svc:8501/v1/models/digits/labels/stable:predict

# in Python, with tensorflow and tensorflow-serving-api
import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

# A channel keeps the address that it found first; round_robin has one to each pod, and a new pod
# is found within 5 s (30 by default) of a connection's end.
options = [
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
    ("grpc.dns_min_time_between_resolutions_ms", 5_000),
]
channel = grpc.insecure_channel("dns:///digits-serving-pods.vision.svc:8500", options)
service = prediction_service_pb2_grpc.PredictionServiceStub(channel)

request = predict_pb2.PredictRequest()
request.model_spec.name = "digits"
request.model_spec.signature_name = "serving_default"
request.model_spec.version_label = "stable"
request.inputs["image"].CopyFrom(tf.make_tensor_proto([[0.0, 0.0]], "float32"))
answer = service.Predict(request, timeout=10)
print(answer.model_spec.version.value)
for name, tensor in answer.outputs.items():
    print(name, tf.make_ndarray(tensor))
"""
    )


def test_the_page_has_the_channel_of_the_printed_program() -> None:
    host = "dns:///digits-serving-pods.training.svc:8500"
    channel = f'{OPTIONS}channel = grpc.insecure_channel("{host}", options)\n'
    assert f"```python\n{channel}```\n" in PAGE.read_text()


def test_a_request_is_as_long_as_what_travels_is() -> None:
    text = "時" * (MOST_BYTES // 3 - 30)
    document = json.dumps({"inputs": {"text": [text]}}, ensure_ascii=False).encode()
    made = request_text(document, FILE, {"text": Tensor("string", (None,))})
    assert json.loads(made)["request"]["inputs"]["text"]["values"] == [text]
    assert len(made.encode()) <= MOST_BYTES
    # Read, it is short enough; with the words that a Job needs it is not.
    longer = json.dumps({"inputs": {"text": ["時" * (MOST_BYTES // 3 - 10)]}}, ensure_ascii=False)
    assert len(longer.encode()) <= MOST_BYTES
    with pytest.raises(RefusedError, match="send fewer rows"):
        request_text(longer.encode(), FILE, {"text": Tensor("string", (None,))})
