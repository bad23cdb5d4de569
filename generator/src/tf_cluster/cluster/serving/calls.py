"""Calls of a model that a person can paste: curl and Python, with the model's own input names."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster.cluster.serving.asking import Host
from tf_cluster.cluster.serving.exports import SIGNATURE, Export, Tensor
from tf_cluster.cluster.serving.promotion import STABLE
from tf_cluster.cluster.serving.servers import CLIENT, GRPC_PORT, Server

LONGEST = 4_000
"""Characters of values that a printed call shows; of a longer request it makes zeros."""
_WORD = {"string": '""', "bool": "False"}
_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

OPTIONS = """\
# A channel keeps the address that it found first; round_robin has one to each pod, and a new pod
# is found within 5 s (30 by default) of a connection's end.
options = [
    ("grpc.service_config", '{"loadBalancingConfig": [{"round_robin": {}}]}'),
    ("grpc.dns_min_time_between_resolutions_ms", 5_000),
]
"""
"""Of a client's channel to the headless Service. docs/serving.md has them, too, and the cases that
count lost requests ask by them."""
CALL_SECONDS = 10
"""How long a printed call waits for its answer."""


@dataclass(frozen=True)
class Called:
    """A model as clients name it, and its Service; `label` where they ask for a label."""

    server: Server
    model: str
    export: Export
    host: Host
    label: str = ""


def called(
    server: Server, model: str, export: Export, labels: Mapping[str, int], host: Host
) -> Called:
    """As clients should name it: by the label `stable`, where it has one."""
    return Called(server, model, export, host, STABLE if STABLE in labels else "")


def addresses(one: Called, outside: str) -> str:
    """Where it answers: in the cluster, and from elsewhere."""
    server = one.server
    return (
        f"gRPC       {one.host.name}:{one.host.grpc}; each pod: {server.pods_host}:{GRPC_PORT}\n"
        f"REST       {_url(one)}\n"
        f"for        pods with the label {CLIENT}: {server.name}\n"
        f"elsewhere  {outside}\n"
    )


def curl(one: Called) -> str:
    """A call of REST that works where the Service is reached."""
    inputs = {name: _values(name, tensor, one.export) for name, tensor in _inputs(one.export)}
    url = f"{_url(one)}:predict"
    told = {name: given for name, (given, _) in inputs.items()}
    if all(given is not None for given in told.values()):
        body = json.dumps({"inputs": told}, separators=(",", ":"))
        return f"curl --silent --data {_in_quotes(body)} {url}\n"
    zeros = ", ".join(f"{json.dumps(name)}: {_zeros(one)}" for name, one in _inputs(one.export))
    made = f'import json; print(json.dumps({{"inputs": {{{zeros}}}}}))'
    return f"python3 -c {_in_quotes(made)} |\n  curl --silent --data @- {url}\n"


def python(one: Called) -> str:
    """A program that asks over gRPC, each pod in its turn."""
    lines = []
    for name, tensor in _inputs(one.export):
        given, dtype = _values(name, tensor, one.export)
        value = _zeros(tensor) if given is None else _literal(given, dtype)
        lines.append(
            f'request.inputs[{_text(name)}].CopyFrom(tf.make_tensor_proto({value}, "{dtype}"))\n'
        )
    label = f'request.model_spec.version_label = "{one.label}"\n' if one.label else ""
    return _PYTHON.format(
        host=f"{one.server.pods_host}:{GRPC_PORT}",
        model=one.model,
        label=label,
        signature=SIGNATURE,
        inputs="".join(lines),
        options=OPTIONS,
        seconds=CALL_SECONDS,
    )


_PYTHON = """\
import grpc
import tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

{options}channel = grpc.insecure_channel("dns:///{host}", options)
service = prediction_service_pb2_grpc.PredictionServiceStub(channel)

request = predict_pb2.PredictRequest()
request.model_spec.name = "{model}"
request.model_spec.signature_name = "{signature}"
{label}{inputs}answer = service.Predict(request, timeout={seconds})
print(answer.model_spec.version.value)
for name, tensor in answer.outputs.items():
    print(name, tf.make_ndarray(tensor))
"""


def calls_text(one: Called, outside: str) -> str:
    """All of it: addresses, curl, and Python."""
    parts = [
        addresses(one, outside),
        f"# with curl\n{curl(one)}",
        f"# in Python, with tensorflow and tensorflow-serving-api\n{python(one)}",
    ]
    return "\n".join(parts)


def _in_quotes(text: str) -> str:
    """A word for a shell, always in quotes."""
    escaped = text.replace("'", "'\\''")
    return f"'{escaped}'"


def _text(name: str) -> str:
    """A text as JSON and Python write it."""
    return json.dumps(name, ensure_ascii=False)


def _url(one: Called) -> str:
    label = f"/labels/{one.label}" if one.label else ""
    return f"http://{one.host.name}:{one.host.rest}/v1/models/{one.model}{label}"


def _inputs(export: Export) -> list[tuple[str, Tensor]]:
    return sorted(export.inputs.items())


def _values(name: str, tensor: Tensor, export: Export) -> tuple[Any, str]:
    """Values for an input, None where they are too long to be shown, and their type."""
    recorded = ((export.request or {}).get("inputs") or {}).get(name)
    if recorded and not _has_words(recorded["values"], str(recorded["dtype"])):
        given, dtype = recorded["values"], str(recorded["dtype"])
    else:
        given, dtype = _nested(tensor), tensor.dtype
    short = given is not None and len(json.dumps(given)) <= LONGEST
    return (given if short else None), dtype


def _has_words(given: Any, dtype: str) -> bool:
    """Whether numbers are written as words, as NaN is: REST and Python each have their own."""
    if isinstance(given, list):
        return any(_has_words(one, dtype) for one in given)
    return isinstance(given, str) and dtype != "string"


def _nested(tensor: Tensor) -> Any:
    """Zeros as nested lists; None where they would be long."""
    lengths = [1 if one is None else one for one in tensor.shape or ()]
    count = 1
    for one in lengths:
        count *= one
    if count > LONGEST:
        return None
    made: Any = _zero(tensor.dtype)
    for length in reversed(lengths):
        made = [made] * length
    return made


def _zero(dtype: str) -> Any:
    if dtype in _INTEGERS:
        return 0
    return {"string": "", "bool": False}.get(dtype, 0.0)


def _zeros(tensor: Tensor) -> str:
    """Zeros as an expression of Python: `[[0.0] * 64] * 1`."""
    made = _WORD.get(tensor.dtype, "0" if tensor.dtype in _INTEGERS else "0.0")
    for length in reversed([1 if one is None else one for one in tensor.shape or ()]):
        made = f"[{made}] * {length}"
    return made


def _literal(given: Any, dtype: str) -> str:
    """A value as Python writes it; texts in base64 as the bytes that they are."""
    if isinstance(given, list):
        return f"[{', '.join(_literal(one, dtype) for one in given)}]"
    if isinstance(given, Mapping):
        import base64

        return repr(base64.b64decode(str(given.get("b64", ""))))
    return repr(given)
