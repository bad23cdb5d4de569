"""serve, predict, publish, promote and rollback: from a training to a server and between versions.

The server is the stand-in of tests/serving, or what SERVING_IMAGE names: the cases are the same.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from tf_cluster.cluster.serving.releasing import CHART
from tf_cluster.params.schema_files import printed_schema_text

from tests.cluster import turns
from tests.cluster.conftest import MakeValues, sleeping_pod
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.model_server import (
    CLIENT,
    CLIENT_IMAGE,
    asked,
    asker,
    assert_none_lost,
    of_image,
)
from tests.cluster.operations.conftest import Tool, claim
from tests.cluster.operations.diagnosis import diagnosed_server
from tests.slices import in_turn
from tests.support.waiting import HANG_SECONDS, eventually

# Fixtures train and install.
pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), in_turn(turns.SERVING, of=turns.OF)]

DIGITS, NEWEST, GATED, MODELS = "digits", "digits-serving", "gated", "models"
SLOW = ("--timeout", "5m")
ASKS = {"app.kubernetes.io/component": "serving-client"}
"""The label of the verbs' Jobs and their pods."""


@pytest.fixture(scope="module")
def trained(make_release: Callable[[str], Release], make_values: MakeValues, tool: Tool) -> Release:
    """A training that is done, with one export; and a claim to publish to."""
    release = make_release(DIGITS)
    release.install(make_values(DIGITS, train={"steps": 200}, workers=1))
    assert tool("wait", DIGITS, "--timeout", "600").startswith("done")
    release.namespace.apply(claim(MODELS))
    return release


@pytest.fixture(scope="module")
def served(trained: Release, tool: Tool) -> Iterator[str]:
    """What `serve --install` printed; the newest export is served, and each that comes."""
    yield tool("serve", DIGITS, "--install", *of_image())
    trained.namespace.helm("uninstall", NEWEST, "--wait")


@pytest.fixture(scope="module")
def on_claim(trained: Release, namespace: Namespace) -> Callable[[str], str]:
    """Run a shell command where the claim of models is /models, with a client's packages."""
    pod = sleeping_pod(
        "librarian",
        {"image": CLIENT_IMAGE, "volumeMounts": [{"name": "models", "mountPath": "/models"}]},
        volumes=[{"name": "models", "persistentVolumeClaim": {"claimName": MODELS}}],
    )
    pod["metadata"]["labels"] = {CLIENT: NEWEST}
    namespace.apply(pod)
    namespace.kubectl("wait", "--for=condition=Ready", "pod/librarian", "--timeout=2m")

    def run(command: str) -> str:
        return namespace.kubectl("exec", "librarian", "--", "sh", "-c", command)

    return run


@pytest.fixture(scope="module")
def gated(
    served: str, trained: Release, tool: Tool, on_claim: Callable[[str], str]
) -> Iterator[str]:
    """A server of chosen versions, 1 of three that were published; its release."""
    for _ in range(3):
        said = document("published", tool, "publish", DIGITS, "--to", f"{MODELS}/{DIGITS}")
    assert said["to"] == {"path": f"{MODELS}/{DIGITS}", "version": 3}
    where = ("--claim", f"{MODELS}/{DIGITS}", "--version", "1", "--release", GATED)
    tool("serve", DIGITS, *where, "--install", *of_image())
    yield GATED
    trained.namespace.helm("uninstall", GATED, "--wait")
    assert trained.namespace.kubectl("get", "pvc", MODELS, f"{DIGITS}-log")


@pytest.fixture(scope="module")
def clients(gated: str, namespace: Namespace) -> Iterator[None]:
    """A pod that asks for what is stable, 50 times a second at most, from here on."""
    image = [[[[0.5]] * 8] * 8]
    namespace.apply(asker(namespace, gated, DIGITS, {"image": image}, label="stable"))
    eventually("an answer", lambda: asked(namespace).good, 120)
    yield
    namespace.kubectl("delete", "pod", "asker", "--wait=false")


def document(schema: str, tool: Tool, *words: str) -> dict[str, Any]:
    made = tool.document(*words)
    Draft7Validator(json.loads(printed_schema_text(schema))).validate(made)
    return made


def names_of(namespace: Namespace, release: str) -> dict[str, str]:
    """The names of a server's pods, by UID."""
    found = namespace.objects(
        "pod", **{"app.kubernetes.io/instance": release, "app.kubernetes.io/component": "serving"}
    )
    return {one["metadata"]["uid"]: one["metadata"]["name"] for one in found}


def pods_of(namespace: Namespace, release: str) -> set[str]:
    return set(names_of(namespace, release))


def models_of(namespace: Namespace, release: str) -> dict[str, Any]:
    found = json.loads(namespace.kubectl("get", "deployment", release, "--output=json"))
    notes = found["metadata"]["annotations"]
    return dict(json.loads(notes["tf-cluster.io/models"])[DIGITS])


def numbers(text: str) -> list[float]:
    """Those of a list, as JSON or NumPy prints it."""
    return [float(one) for one in re.findall(r"-?\d+(?:\.\d*)?(?:e[+-]?\d+)?", text)]


def test_the_printed_calls_answer_as_recorded(
    served: str,
    namespace: Namespace,
    on_claim: Callable[[str], str],
    read_log_volume: Callable[[str, str], str],
) -> None:
    rest, _, program = served.partition("# in Python")
    program = program.partition("\n")[2]
    command = rest.partition("# with curl\n")[2].strip()
    # No image here has curl.
    post = "from urllib.request import urlopen as post; from sys import argv; "
    post += "print(post(argv[-1], argv[-2].encode()).read().decode())"
    answer = json.loads(on_claim(f"curl() {{ python3 -c '{post}' \"$@\"; }}\n{command}"))
    said = namespace.kubectl("exec", "-i", "librarian", "--", "python3", "-", stdin=program)
    version, _, printed = said.partition("\n")
    name, _, values = printed.partition(" ")

    path = f"/log/{DIGITS}/1/export/{int(version)}/assets.extra/tf-cluster.json"
    record = json.loads(read_log_volume(f"{DIGITS}-log", f"cat {path}"))
    ((output, recorded),) = record["answer"]["outputs"].items()
    logits = numbers(json.dumps(recorded["values"]))
    assert len(logits) == 10
    assert name == output
    for answered in (numbers(json.dumps(answer["outputs"])), numbers(values)):
        assert answered == pytest.approx(logits, rel=1e-4, abs=1e-4)


def test_predict_sends_the_recorded_request(served: str, tool: Tool) -> None:
    made = document("answer", tool, "predict", DIGITS, "--release", NEWEST, *SLOW)
    assert (made["state"], made["ok"]) == ("AVAILABLE", True)
    assert made["difference"] <= 1e-4


def test_a_request_with_a_wrong_input_gets_the_servers_own_words(
    served: str, tool: Tool, tmp_path: Path
) -> None:
    file = tmp_path / "wrong.json"
    file.write_text('{"inputs": {"hat": [[1.0]]}}')
    words = ("predict", DIGITS, "--release", NEWEST, "--input", str(file))
    said = tool.ran(*words, code=1).stderr
    assert "hat" in said
    assert "not found in request" in said


def test_the_next_export_is_served_without_a_new_pod(
    served: str, trained: Release, make_values: MakeValues, tool: Tool
) -> None:
    before = pods_of(trained.namespace, NEWEST)
    trained.upgrade(make_values(DIGITS, train={"steps": 400}, workers=1))
    assert tool("wait", DIGITS, "--timeout", "600").startswith("done")
    made = document("answer", tool, "predict", DIGITS, "--release", NEWEST, *SLOW)
    assert (made["version"], made["ok"]) == (2, True)
    assert pods_of(trained.namespace, NEWEST) == before


def test_promote_moves_stable_and_rollback_moves_it_back(
    gated: str, clients: None, namespace: Namespace, tool: Tool
) -> None:
    before = pods_of(namespace, GATED)
    made = document("promotion", tool, "promote", DIGITS, "2", "--release", GATED)
    assert (made["stable"], made["previous"], made["loaded"]) == (2, 1, [1, 2])
    answer = document("answer", tool, "predict", DIGITS, "--release", GATED)
    assert (answer["version"], answer["ok"]) == (2, True)
    assert "is stable already" in tool.ran("promote", DIGITS, "2", "--release", GATED).stderr

    made = document("promotion", tool, "rollback", DIGITS, "--release", GATED)
    assert (made["stable"], made["previous"], made["loaded"]) == (1, None, [1])
    assert document("answer", tool, "predict", DIGITS, "--release", GATED)["version"] == 1
    assert (
        "is not loaded"
        in tool.ran(*("predict", DIGITS, "--release", GATED, "--version", "2"), code=2).stderr
    )
    assert pods_of(namespace, GATED) == before


def broken(on_claim: Callable[[str], str], number: int) -> None:
    """A version that can be loaded, and whose warm-up fails: no server makes it available."""
    folder = f"/models/{DIGITS}/{number}"
    write = (
        "import tensorflow as tf\n"
        "from tensorflow_serving.apis import prediction_log_pb2 as logs\n"
        "one = logs.PredictionLog()\n"
        f"one.predict_log.request.model_spec.name = '{DIGITS}'\n"
        "one.predict_log.request.inputs['hat'].CopyFrom(tf.make_tensor_proto([[1.0]]))\n"
        f"path = '{folder}.tmp/assets.extra/tf_serving_warmup_requests'\n"
        "with tf.io.TFRecordWriter(path) as file:\n"
        "    file.write(one.SerializeToString())\n"
    )
    on_claim(
        f"cp -R /models/{DIGITS}/1 {folder}.tmp"
        f" && rm {folder}.tmp/assets.extra/tf-cluster-manifest.json"
        f' && python3 -c "{write}" && mv {folder}.tmp {folder}'
    )


def test_a_version_that_does_not_serve_is_refused_and_unloaded(
    gated: str, namespace: Namespace, tool: Tool, on_claim: Callable[[str], str]
) -> None:
    broken(on_claim, 7)
    before = models_of(namespace, GATED)
    words = ("promote", DIGITS, "7", "--release", GATED, "--timeout", "60s")
    said = tool.ran(*words, code=1).stderr
    assert f"{DIGITS} 7 in {GATED}-" in said
    assert "it is unloaded, and all is as it was" in said
    assert models_of(namespace, GATED) == before
    assert document("answer", tool, "predict", DIGITS, "--release", GATED)["version"] == 1


def test_a_half_copied_version_is_refused_before_any_server_sees_it(
    gated: str, namespace: Namespace, tool: Tool, on_claim: Callable[[str], str]
) -> None:
    folder = f"/models/{DIGITS}"
    on_claim(f"cp -R {folder}/1 {folder}/9 && rm {folder}/9/variables/variables.index")
    before = namespace.helm("history", GATED)
    said = tool.ran("promote", DIGITS, "9", "--release", GATED, code=2).stderr
    assert f"version 9 in claim {MODELS}/{DIGITS} can't be served: " in said
    assert namespace.helm("history", GATED) == before
    said = tool.ran("serve", DIGITS, "--claim", f"{MODELS}/{DIGITS}", code=2).stderr
    assert "can't be served" in said
    assert "is good: --version" in said


def until_it_asks(namespace: Namespace, version: int) -> None:
    """Wait until a promotion has the server load a version, and a pod of its Job is made."""

    def is_asking() -> bool:
        loaded = models_of(namespace, GATED)["policy"].get("specific") or []
        return version in loaded and bool(namespace.objects("pod", **ASKS))

    eventually("both to be loaded and a pod that asks", is_asking, 120)


def test_a_killed_promote_is_named_and_taken_back(
    gated: str, namespace: Namespace, tool: Tool, on_claim: Callable[[str], str]
) -> None:
    broken(on_claim, 8)
    process = tool.started("promote", DIGITS, "8", "--release", GATED)
    until_it_asks(namespace, 8)
    process.send_signal(signal.SIGTERM)
    _, said = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 143, said
    assert f"a promotion of {DIGITS} 8 has begun and not ended" in said
    assert namespace.objects("job", **{CLIENT: GATED}) == []
    begun = diagnosed_server(namespace, GATED, "TFD128")
    assert f"{DIGITS} 8 is loaded, and no label names it" in begun.words
    said = tool.ran("promote", DIGITS, "3", "--release", GATED, code=2).stderr
    assert f"tf-cluster promote {DIGITS} 8 goes on" in said
    made = document("promotion", tool, "rollback", DIGITS, "--release", GATED)
    assert (made["stable"], made["loaded"]) == (1, [1])


def test_what_argo_cd_manages_is_edited_in_its_file(
    gated: str, namespace: Namespace, tool: Tool, tmp_path: Path
) -> None:
    mark = "argocd.argoproj.io/tracking-id"
    namespace.kubectl("annotate", "deployment", GATED, f"{mark}=vision:apps/Deployment:x/{GATED}")
    try:
        said = tool.ran("promote", DIGITS, "2", "--release", GATED, code=2).stderr
        assert "is managed by Argo CD, Application vision" in said
    finally:
        namespace.kubectl("annotate", "deployment", GATED, f"{mark}-")
    file = tmp_path / "gated.values.yaml"
    file.write_text(f"# ours\n{namespace.helm('get', 'values', GATED, '--output=yaml')}")
    words = (str(tool.command("promote")[0]), "promote", DIGITS, "2", "--values", str(file))
    for _ in range(2):
        namespace.shell(" ".join(words), tmp_path)
    text = file.read_text()
    assert text.startswith("# ours\n")
    namespace.helm("upgrade", GATED, str(CHART), f"--values={file}", "--reset-values")
    assert models_of(namespace, GATED)["labels"] == {"stable": 2, "previous": 1}
    made = document("promotion", tool, "rollback", DIGITS, "--release", GATED)
    assert made["stable"] == 1


def changes_its_mind(on_claim: Callable[[str], str], number: int) -> None:
    """A version that answers as recorded when it is asked first, and otherwise from then on."""
    folder = f"/models/{DIGITS}/{number}"
    write = f"""
import json, pathlib, tensorflow as tf

class Counts(tf.Module):
    def __init__(self):
        self.asked = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None, 8, 8, 1], tf.float32, name="image")])
    def serve(self, image):
        before = self.asked.assign_add(1.0) - 1.0
        return {{"counted": tf.fill([tf.shape(image)[0]], before)}}

model = Counts()
tf.saved_model.save(model, "{folder}.tmp", signatures=model.serve)
extra = "assets.extra/"
record = json.loads(pathlib.Path("/models/{DIGITS}/1", extra + "tf-cluster.json").read_text())
rows = next(iter(record["request"]["inputs"].values()))["shape"][0]
counted = {{"dtype": "float32", "shape": [rows], "values": [0.0] * rows}}
record["answer"] = {{"outputs": {{"counted": counted}}}}
pathlib.Path("{folder}.tmp", extra).mkdir(exist_ok=True)
pathlib.Path("{folder}.tmp", extra + "tf-cluster.json").write_text(json.dumps(record))
"""
    on_claim(
        f"python3 - <<'PROGRAM'\n{write}\nPROGRAM\n"
        f"cp /models/{DIGITS}/1/assets.extra/tf_serving_warmup_requests {folder}.tmp/assets.extra/"
        f" && mv {folder}.tmp {folder}"
    )


def test_a_version_that_answers_otherwise_on_the_server_is_refused_and_unloaded(
    gated: str, clients: None, namespace: Namespace, tool: Tool, on_claim: Callable[[str], str]
) -> None:
    changes_its_mind(on_claim, 6)
    before = models_of(namespace, GATED)
    said = tool.ran("promote", DIGITS, "6", "--release", GATED, code=1).stderr
    assert "recorded 0.0 (difference " in said
    assert "it is unloaded, and all is as it was" in said
    assert models_of(namespace, GATED) == before
    assert document("answer", tool, "predict", DIGITS, "--release", GATED)["version"] == 1


def test_no_request_is_lost_while_versions_come_and_go(
    gated: str, clients: None, namespace: Namespace
) -> None:
    assert_none_lost(asked(namespace))


def test_a_pod_that_goes_while_it_is_asked_holds_nothing_up(
    gated: str, namespace: Namespace, tool: Tool
) -> None:
    words = ("promote", DIGITS, "2", "--release", GATED, "--timeout", "30m")
    process = tool.started(*words)
    until_it_asks(namespace, 2)
    (name,) = names_of(namespace, GATED).values()
    namespace.kubectl("delete", "pod", name, "--force", "--wait=false")
    _, said = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 0, said
    assert models_of(namespace, GATED)["labels"]["stable"] == 2


def test_no_job_of_the_verbs_is_left(gated: str, namespace: Namespace) -> None:
    assert namespace.objects("job,pod", **ASKS) == []
