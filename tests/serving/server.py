"""A server under test: the stand-in, or the true one where SERVING_BINARY names it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import tensorflow as tf
from tensorflow_serving.apis import (
    model_management_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

from tests.ports import free_port
from tests.serving.saved_models import INPUT, WIDTH
from tests.support.waiting import eventually
from tests.tied import tied_to_us

ROOT = Path(__file__).parents[2]
BINARY = os.environ.get("SERVING_BINARY", "")
IS_STAND_IN = not BINARY
COMMAND = (BINARY,) if BINARY else (sys.executable, "-m", "tests.serving.stand_in")
START_SECONDS = 60.0


@dataclass(frozen=True)
class Answer:
    """What REST said."""

    status: int
    text: str
    headers: Mapping[str, str]

    @property
    def document(self) -> Any:
        return json.loads(self.text)

    @property
    def error(self) -> str:
        return str(self.document["error"])


@dataclass
class Server:
    """One process. `log` is where its words go."""

    process: subprocess.Popen[bytes]
    log: Path
    grpc_port: int
    rest_port: int

    @property
    def words(self) -> str:
        return self.log.read_text(errors="replace")

    @property
    def grpc_address(self) -> str:
        return f"127.0.0.1:{self.grpc_port}"

    @property
    def rest_address(self) -> str:
        return f"http://127.0.0.1:{self.rest_port}"

    def rest(self, path: str, body: Any = None, method: str | None = None) -> Answer:
        """Ask by REST. Raises OSError where nothing listens."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(self.rest_address + path, data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return Answer(answer.status, answer.read().decode(), dict(answer.headers))
        except urllib.error.HTTPError as error:
            with error:
                return Answer(error.code, error.read().decode(), dict(error.headers))

    def listens(self) -> bool:
        """Whether REST answers at all."""
        try:
            self.rest("/v1/models/nothing")
        except OSError:
            return False
        return True

    def states(self, model: str = "m") -> dict[int, str]:
        """The states of a model's versions; empty where it has none."""
        answer = self.rest(f"/v1/models/{model}")
        if answer.status != 200:
            return {}
        found = answer.document["model_version_status"]
        return {int(one["version"]): one["state"] for one in found}

    def await_states(self, expected: Mapping[int, str], model: str = "m") -> None:
        eventually(
            f"{model} to be {expected}",
            lambda: self._has(expected, self.states(model)),
            START_SECONDS,
        )

    def _has(self, expected: Mapping[int, str], found: Mapping[int, str]) -> bool:
        assert found == expected, found
        return True

    def predict(self, model: str = "m", **more: Any) -> predict_pb2.PredictResponse:
        """Ask for ones by gRPC: `values`, `inputs`, `version`, `label` and `signature` otherwise.

        Raises grpc.RpcError.
        """
        with grpc.insecure_channel(self.grpc_address) as channel:
            stub = prediction_service_pb2_grpc.PredictionServiceStub(channel)
            return stub.Predict(request(model, **more), timeout=60, wait_for_ready=True)

    def scale(self, model: str = "m", **more: Any) -> float:
        """What a version multiplies by, asked by gRPC. Raises grpc.RpcError."""
        answer = self.predict(model, **more)
        return float(tf.make_ndarray(answer.outputs["y"])[0, 0])

    def reload(self, config: Any, seconds: float = 60) -> Any:
        """HandleReloadConfigRequest. Raises grpc.RpcError."""
        asked = model_management_pb2.ReloadConfigRequest(config=config)
        with grpc.insecure_channel(self.grpc_address) as channel:
            stub = model_service_pb2_grpc.ModelServiceStub(channel)
            return stub.HandleReloadConfigRequest(asked, timeout=seconds, wait_for_ready=True)

    def ended(self, seconds: float = START_SECONDS) -> int:
        """The exit code of a server that ends by itself."""
        return self.process.wait(timeout=3 * seconds)


def request(model: str = "m", **more: Any) -> predict_pb2.PredictRequest:
    """A request for ones; what else it may say: `Server.predict`."""
    made = predict_pb2.PredictRequest()
    made.model_spec.name = model
    made.model_spec.signature_name = more.get("signature", "")
    if "version" in more:
        made.model_spec.version.value = more["version"]
    if "label" in more:
        made.model_spec.version_label = more["label"]
    inputs = more.get("inputs", {INPUT: more.get("values", np.ones((1, WIDTH), np.float32))})
    for name, values in inputs.items():
        made.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    return made


@contextmanager
def started(folder: Path, *flags: str) -> Iterator[Server]:
    """A server whose ports may not be open yet; it is killed afterwards."""
    log = folder / f"server-{free_port()}.log"
    server_ports = free_port(), free_port()
    ports = (f"--port={server_ports[0]}", f"--rest_api_port={server_ports[1]}")
    with log.open("wb") as out:
        process = subprocess.Popen(
            tied_to_us(*COMMAND, *ports, *flags),
            cwd=ROOT,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "0"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield Server(process, log, *server_ports)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


@contextmanager
def serving(folder: Path, *flags: str) -> Iterator[Server]:
    """A server that answers."""
    with started(folder, *flags) as server:
        eventually("the server", lambda: _listens(server), START_SECONDS)
        yield server


def _listens(server: Server) -> bool:
    if server.process.poll() is not None:
        raise RuntimeError(f"the server ended: {server.words}")
    return server.listens()


def of(base: Path, *flags: str) -> tuple[str, ...]:
    """The flags that serve one model, `m`, from a directory, without long waits."""
    return ("--model_name=m", f"--model_base_path={base}", *flags)


def config_of(*models: Mapping[str, Any]) -> str:
    """models.config: each model has a name, a path, and perhaps a `policy` and `labels`."""
    lines = ["model_config_list {"]
    for model in models:
        lines += ["  config {", f'    name: "{model["name"]}"', f'    base_path: "{model["path"]}"']
        lines.append('    model_platform: "tensorflow"')
        if policy := model.get("policy"):
            lines.append(f"    model_version_policy {{ {policy} }}")
        for label, version in model.get("labels", {}).items():
            lines.append(f'    version_labels {{ key: "{label}" value: {version} }}')
        lines.append("  }")
    return "\n".join([*lines, "}\n"])
