"""Which images the cases of serving use: the stand-in of tests/serving, or what one names."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

from tf_cluster.cluster.serving.calls import CALL_SECONDS, OPTIONS

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


# Threads that ask as the printed program does, each by a channel of its own, and as often as they
# are told, however long an answer takes. They are counted from the first answer on: until then a
# NetworkPolicy does not know the new pod.
_ASK = f"""
import itertools, json, sys, threading, time
import grpc, tensorflow as tf
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc as service

{OPTIONS}
address, told = sys.argv[1], json.loads(sys.argv[2])
request = predict_pb2.PredictRequest()
request.model_spec.name = told["model"]
if told["label"]:
    request.model_spec.version_label = told["label"]
for name, value in told["inputs"].items():
    request.inputs[name].CopyFrom(tf.make_tensor_proto(value, tf.float32))
good, alone = 0, threading.Lock()

def say(*words):
    with alone:
        print(*words, flush=True)

def stub():
    return service.PredictionServiceStub(grpc.insecure_channel(address, options))

def is_answered(by, told_of):
    try:
        by.Predict(request, timeout={CALL_SECONDS})
        return True
    except Exception as error:
        known = isinstance(error, grpc.RpcError)
        said = f"{{error.code()}} {{error.details()}}" if known else repr(error)
        say(told_of, time.strftime("%X"), said)
        time.sleep(0.1)
        return False

def ask(by):
    global good
    for number in itertools.count():
        time.sleep(max(began + number * told["pause"] - time.monotonic(), 0))
        if is_answered(by, "bad"):
            with alone:
                good += 1

first = stub()
while not is_answered(first, "not yet"):
    pass
began = time.monotonic()
for by in [stub() for _ in range(told["threads"])]:
    threading.Thread(target=ask, args=(by,), daemon=True).start()
while True:
    time.sleep(2)
    say("asked", good, time.monotonic() - began)
"""
LEAST_RATE = 5.0
"""Answers in a second, on average, that a busy machine of two cores holds."""


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
    """A pod that asks a server of models all the time, as the printed program does.

    `inputs` are numbers. A thread begins a request each `pause` seconds, or when the one before has
    an answer; an empty `label` asks for the newest version.
    """
    found = namespace.objects("service", **{"app.kubernetes.io/instance": release})
    (headless,) = (one["metadata"]["name"] for one in found if one["spec"]["clusterIP"] == "None")
    address = f"dns:///{headless}.{namespace.name}.svc:8500"
    told = {"model": model, "label": label, "inputs": inputs, "threads": threads, "pause": pause}
    command = ["python3", "-u", "-c", _ASK, address, json.dumps(told)]
    made: Object = sleeping_pod(name, {"image": CLIENT_IMAGE, "command": command})
    made["metadata"]["labels"] = {CLIENT: release}
    return made


@dataclass(frozen=True)
class Asked:
    """What came of the requests of such a pod in the seconds since the first answer."""

    good: int
    bad: int
    seconds: float
    said: str
    """What it said of those that were not answered."""

    @property
    def rate(self) -> float:
        """Answers in a second, on average."""
        return self.good / self.seconds


def asked(namespace: Namespace, name: str = "asker") -> Asked:
    """What came of its requests until now. AssertionError where it asks no more, or not yet."""
    phase = namespace.kubectl("get", "pod", name, "--output=jsonpath={.status.phase}")
    said = namespace.kubectl("logs", name).splitlines()
    rest = [line for line in said if not line.startswith("asked ")]
    counts = [line.split()[1:] for line in said if line.startswith("asked ")]
    assert phase == "Running" and counts, "\n".join((f"{name} is {phase}", *rest))
    good, seconds = counts[-1]
    bad = sum(line.startswith("bad ") for line in rest)
    return Asked(int(good), bad, float(seconds), "\n".join(rest))


def assert_none_lost(found: Asked) -> None:
    """That each request was answered, and that there were requests all the time.

    Each is bad after CALL_SECONDS, so a server that is gone for longer can't be missed.
    """
    print(f"{found.good} answers in {found.seconds:.0f} s: {found.rate:.1f} a second")
    assert found.bad == 0, found.said
    assert found.rate >= LEAST_RATE, found
