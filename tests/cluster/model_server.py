"""Which images the cases of serving use: the stand-in of tests/serving, or what one names."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.cluster.conftest import sleeping_pod
from tests.cluster.kubernetes import Namespace, Object

STAND_IN = "localhost/tf-cluster-test/serving-stand-in:0.1.0"
SERVING_IMAGE = os.environ.get("SERVING_IMAGE", STAND_IN)
"""The server's."""
CLIENT_IMAGE = os.environ.get("SERVING_CLIENT_IMAGE", STAND_IN)
"""One with Python, TensorFlow and tensorflow-serving-api, as a client has them."""
CLIENT = "tf-cluster.io/serving-client"
"""The label of who may ask, with the server's name."""


def of_image() -> list[str]:
    """Words that choose the server's image, and little CPU and memory, for `serve`."""
    repository, _, tag = SERVING_IMAGE.rpartition(":")
    settings = [f"image.repository={repository}", f"image.tag={tag}"]
    settings += ["resources.requests.cpu=50m", "resources.requests.memory=256Mi"]
    return [word for one in settings for word in ("--set", one)]


# Threads that ask all the time, each by a channel that takes the pods in turn.
_ASK = """
import json, sys, threading, time
import grpc, tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc as service

address, told = sys.argv[1], json.loads(sys.argv[2])
request = predict_pb2.PredictRequest()
request.model_spec.name = told["model"]
if told["label"]:
    request.model_spec.version_label = told["label"]
for name, value in told["inputs"].items():
    request.inputs[name].CopyFrom(tf.make_tensor_proto(value, tf.float32))
counted = {"good": 0, "bad": 0}

def ask():
    how = [
        ("grpc.lb_policy_name", "round_robin"),
        ("grpc.dns_min_time_between_resolutions_ms", 5_000),
    ]
    stub = service.PredictionServiceStub(grpc.insecure_channel(address, how))
    while True:
        try:
            stub.Predict(request, timeout=20, wait_for_ready=True)
            counted["good"] += 1
        except grpc.RpcError as error:
            counted["bad"] += 1
            print(error.code(), error.details(), flush=True)
        time.sleep(told["pause"])

for _ in range(told["threads"]):
    threading.Thread(target=ask, daemon=True).start()
while True:
    time.sleep(2)
    print("asked", counted["good"], counted["bad"], flush=True)
"""


def asker(
    namespace: Namespace,
    release: str,
    model: str,
    inputs: dict[str, Any],
    *,
    label: str = "",
    threads: int = 1,
    pause: float = 0.02,
    name: str = "asker",
) -> Object:
    """A pod that asks a server of models all the time, as docs/serving.md has it.

    `inputs` are numbers, `pause` the seconds between two requests of a thread; an empty `label`
    asks for the newest version.
    """
    found = namespace.objects("service", **{"app.kubernetes.io/instance": release})
    (headless,) = (one["metadata"]["name"] for one in found if one["spec"]["clusterIP"] == "None")
    address = f"dns:///{headless}.{namespace.name}.svc.cluster.local:8500"
    told = {"model": model, "label": label, "inputs": inputs, "threads": threads, "pause": pause}
    command = ["python3", "-u", "-c", _ASK, address, json.dumps(told)]
    made: Object = sleeping_pod(name, {"image": CLIENT_IMAGE, "command": command})
    made["metadata"]["labels"] = {CLIENT: release}
    return made


def asked(namespace: Namespace, name: str = "asker") -> tuple[int, int, str]:
    """How many requests of such a pod were answered, how many not, and what those said."""
    said = namespace.kubectl("logs", name).splitlines()
    counts = [line.split()[1:] for line in said if line.startswith("asked ")]
    good, bad = map(int, counts[-1]) if counts else (0, 0)
    return good, bad, "\n".join(line for line in said if not line.startswith("asked "))
