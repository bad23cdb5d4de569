"""One server of several models, each from another source: an image, an address and a claim.

The image is built of what `tf-cluster package` wrote, by buildah, over busybox: the test cluster
has no registry to ask. The server is the stand-in of tests/serving.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import subprocess
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.serving.releasing import CHART

from tests.cluster import turns
from tests.cluster.conftest import IMAGE, sleeping_pod
from tests.cluster.kubernetes import CommandError, Namespace
from tests.cluster.model_server import CLIENT, CLIENT_IMAGE, SERVING_IMAGE
from tests.cluster.operations.conftest import TOOL, claim
from tests.serving.saved_models import put
from tests.slices import in_turn
from tests.support.waiting import HANG_SECONDS, eventually
from tools.machine import buildah, image_load, packages
from tools.machine.exclusive import exclusively
from tools.machine.layout import default_layout
from tools.machine.system_images import BUSYBOX, ctr

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), in_turn(turns.SERVING, of=turns.OF)]

RELEASE, MODELS, SHELF = "several", "several-models", "shelf"
BASE, PACKED = "localhost/tf-cluster-test/busybox:0.1.0", "localhost/tf-cluster-test/packed:4"
SCALES = {"fetched": 5.0, "own": 3.0, "packed": 2.0}
"""What each model multiplies its input by."""
LATE = "late"
"""A model that comes when the server runs; it multiplies by 7."""


@dataclass(frozen=True)
class Shelf:
    """A claim of models, and a pod that has it, asks the server, and serves its files by HTTP."""

    namespace: Namespace
    scratch: Path

    def put(self, model: str, scale: float) -> None:
        """Version 1 of a model, on the claim."""
        put(self.scratch / model, 1, scale)
        self.write(archive(self.scratch / model), f"mkdir {model} && tar -xz -C {model}")

    def write(self, data: bytes, command: str) -> None:
        """Give bytes to a command that runs in the claim's directory."""
        line = f"cd /models && base64 -d | ({command})"
        self.namespace.kubectl(
            *("exec", "-i", SHELF, "--", "sh", "-c", line), stdin=base64.b64encode(data).decode()
        )

    def address(self, file: str) -> str:
        """Where other pods find a file of the claim."""
        ip = self.namespace.kubectl("get", "pod", SHELF, "--output=jsonpath={.status.podIP}")
        return f"http://{ip}:8000/{file}"

    def ask(self, model: str) -> tuple[int, float]:
        """What the server makes of 1: the version that it has, and the answer."""
        program = f"""
import json
from urllib.request import urlopen
at = "http://{RELEASE}:8501/v1/models/{model}"
versions = json.load(urlopen(at))["model_version_status"]
body = json.dumps({{"instances": [[1.0, 1.0, 1.0]]}}).encode()
(row,) = json.load(urlopen(at + ":predict", body))["predictions"]
print(json.dumps([int(versions[0]["version"]), row[0]]))
"""
        said = self.namespace.kubectl("exec", SHELF, "--", "python3", "-c", program)
        version, answer = json.loads(said)
        return version, answer


def archive(folder: Path) -> bytes:
    """A gzipped tar archive with what is in a folder at its top, readable by all."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        tar.add(folder, arcname=".", filter=_let_all_read)
    return out.getvalue()


def _let_all_read(entry: tarfile.TarInfo) -> tarfile.TarInfo:
    entry.mode = 0o755 if entry.isdir() else 0o644
    entry.uid = entry.gid = 0
    return entry


@pytest.fixture(scope="module")
def packed(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image with version 4 of a model, as the Dockerfile of `tf-cluster package` makes it."""
    layout = default_layout()
    if namespace.kubeconfig != str(layout.kubeconfig):
        pytest.skip("KUBECONFIG names another cluster, which no image of ours can be loaded into")
    folder = tmp_path_factory.mktemp("packed")
    put(folder / "export", 4, SCALES["packed"])
    words = (TOOL, "package", folder / "export", "--output", folder / "context")
    subprocess.run(words, check=True, capture_output=True)
    programs = folder / "base" / "bin"
    programs.mkdir(parents=True)
    (programs / "busybox").write_bytes(BUSYBOX.read_bytes())
    (programs / "busybox").chmod(0o755)
    (programs / "cp").symlink_to("busybox")
    packages.ensure(packages.IMAGE, layout)
    with exclusively(layout, "image"):
        builder = buildah.ready(layout.cache)
        builder.commit_folder(programs.parent, BASE)
        named = ("--build-arg", f"BASE={BASE}", "--tag", PACKED)
        builder.build([*named, folder / "context"], log=folder / "build.log")
        builder.export(PACKED, folder / "oci")
        image_load.into_cluster(layout, PACKED, folder / "oci")
    yield PACKED
    ctr(layout, "images", "remove", PACKED)


@pytest.fixture(scope="module")
def shelf(namespace: Namespace, tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    namespace.apply(claim(MODELS))
    container = {
        "image": CLIENT_IMAGE,
        "command": ["python3", "-m", "http.server", "8000", "--directory", "/models"],
        "volumeMounts": [{"name": "models", "mountPath": "/models"}],
    }
    volume = {"name": "models", "persistentVolumeClaim": {"claimName": MODELS}}
    pod = sleeping_pod(SHELF, container, volumes=[volume])
    pod["metadata"]["labels"] = {CLIENT: RELEASE}
    namespace.apply(pod)
    namespace.kubectl("wait", "--for=condition=Ready", f"pod/{SHELF}", "--timeout=2m")
    return Shelf(namespace, tmp_path_factory.mktemp("shelf"))


@pytest.fixture(scope="module")
def values(packed: str, shelf: Shelf) -> dict[str, Any]:
    """Of a server of three models."""
    put(shelf.scratch / "fetched", 1, SCALES["fetched"])
    whole = archive(shelf.scratch / "fetched")
    shelf.write(whole, "cat > fetched.tar.gz")
    shelf.put("own", SCALES["own"])
    fetched = {
        "address": shelf.address("fetched.tar.gz"),
        "sha256": hashlib.sha256(whole).hexdigest(),
    }
    repository, _, tag = SERVING_IMAGE.rpartition(":")
    tools, _, tools_tag = IMAGE.rpartition(":")
    return {
        "image": {"repository": repository, "tag": tag},
        "tools": {"image": {"repository": tools, "tag": tools_tag}},
        "resources": {"requests": {"cpu": "50m", "memory": "256Mi"}},
        "models": {
            "fetched": {"source": {"url": fetched}},
            "own": {"source": {"claim": {"name": MODELS, "path": "own"}}},
            "packed": {"source": {"image": {"reference": packed, "path": "/model"}}},
        },
    }


@pytest.fixture(scope="module")
def server(
    namespace: Namespace, values: dict[str, Any], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    made = Server(namespace, tmp_path_factory.mktemp("server") / "values.yaml")
    made.install(values)
    yield made
    namespace.helm("uninstall", RELEASE, "--wait")
    assert namespace.kubectl("get", "pvc", MODELS, "--output=jsonpath={.status.phase}") == "Bound"


@dataclass(frozen=True)
class Server:
    """The release."""

    namespace: Namespace
    file: Path

    def install(self, values: dict[str, Any], *, wait: bool = True) -> None:
        """Install or upgrade it, and wait for its pods."""
        self.file.write_text(yaml.safe_dump(values))
        self.namespace.helm("upgrade", "--install", RELEASE, str(CHART), f"--values={self.file}")
        if wait:
            limit = f"--timeout={HANG_SECONDS:.0f}s"
            self.namespace.kubectl("rollout", "status", f"deployment/{RELEASE}", limit)

    def pods(self) -> list[dict[str, Any]]:
        """Its pods."""
        labels = {"app.kubernetes.io/instance": RELEASE, "app.kubernetes.io/component": "serving"}
        return self.namespace.objects("pod", **labels)

    def uids(self) -> set[str]:
        """Which pods they are."""
        return {pod["metadata"]["uid"] for pod in self.pods()}


def test_every_source_is_served_by_one_server(server: Server, shelf: Shelf) -> None:
    answers = {model: shelf.ask(model) for model in SCALES}
    assert answers == {"fetched": (1, 5.0), "own": (1, 3.0), "packed": (4, 2.0)}


def test_a_model_more_comes_without_a_new_pod(
    server: Server, shelf: Shelf, values: dict[str, Any]
) -> None:
    before = server.uids()
    shelf.put(LATE, 7.0)
    late = {"source": {"claim": {"name": MODELS, "path": LATE}}}
    server.install({**values, "models": {**values["models"], LATE: late}})

    eventually("the new model", lambda: _answers(shelf, LATE), HANG_SECONDS)
    assert shelf.ask(LATE) == (1, 7.0)
    assert server.uids() == before


def test_an_archive_with_another_hash_is_refused_and_the_old_pod_serves_on(
    server: Server, shelf: Shelf, values: dict[str, Any]
) -> None:
    (before,) = server.uids()
    url = values["models"]["fetched"]["source"]["url"]
    other = {"source": {"url": {**url, "sha256": "0" * 64}}}
    server.install({**values, "models": {**values["models"], "fetched": other}}, wait=False)

    told = eventually("what the new pod says", lambda: _last_words(server, before), HANG_SECONDS)
    assert url["sha256"] in told
    assert "0" * 64 in told
    assert shelf.ask("fetched") == (1, 5.0)
    server.install(values)
    assert shelf.ask("fetched") == (1, 5.0)


def _answers(shelf: Shelf, model: str) -> bool:
    try:
        shelf.ask(model)
    except CommandError:
        return False
    return True


def _last_words(server: Server, old: str) -> str:
    """What an init container of a new pod ended with."""
    for pod in server.pods():
        for one in pod["status"].get("initContainerStatuses", []):
            ended = one["state"].get("terminated") or one.get("lastState", {}).get("terminated")
            if pod["metadata"]["uid"] != old and ended and ended["exitCode"]:
                return str(ended["message"])
    return ""
