"""A real Docker engine builds the Dockerfile by the line of docs/images.md, and runs the image.

The engine is Debian's, started for this test with a state of its own; it has no bridge and touches
no firewall. No registry can be asked, so its base is the project's own, with this machine's pip
settings and certificates.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tools.machine import base_image, buildah, mounts, packages, pip_settings
from tools.machine.layout import default_layout

pytestmark = pytest.mark.full
ROOT = Path(__file__).parents[2]
SECONDS = 1800
(LINE,) = re.findall(
    r"docker build (.*)--target gpu.*$", (ROOT / "docs/images.md").read_text(), re.MULTILINE
)
DOCKERFILE = """\
FROM {base}
COPY pip.conf /etc/pip.conf
COPY certs /etc/ssl/certs
"""

Docker = Callable[..., str]


@pytest.fixture
def engine() -> Iterator[Path]:
    """Where the engine of a test lives; a path of pytest's is too long for its sockets."""
    folder = Path(tempfile.mkdtemp(prefix="docker-"))
    yield folder
    mounts.remove(folder)  # the engine leaves that of its network namespace
    shutil.rmtree(folder)


@pytest.fixture
def docker(engine: Path) -> Iterator[Docker]:
    """Runs `docker` against an engine of the test's own; returns what it printed."""
    if os.geteuid() != 0:
        pytest.skip("starting a Docker engine needs root")
    packages.ensure(("docker.io",), default_layout())
    socket = f"unix://{engine}/docker.sock"
    environment = {**os.environ, "DOCKER_HOST": socket, "DOCKER_CONFIG": str(engine / "config")}
    places = [f"--{name}={engine / name}" for name in ("data-root", "exec-root", "pidfile")]
    command = ("dockerd", f"--host={socket}", "--bridge=none", "--iptables=false", *places)

    def run(*words: str | Path) -> str:
        done = subprocess.run(
            ("docker", *map(str, words)), env=environment, cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, (
            f"docker {words[0]}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        )
        return done.stdout

    log = engine / "engine.log"
    with log.open("wb") as written:
        process = subprocess.Popen(command, stdout=written, stderr=written)
        try:
            eventually("the engine", lambda: _is_up(process, log, run), 60)
            yield run
        finally:
            process.terminate()
            process.wait(60)


def _is_up(process: subprocess.Popen[bytes], log: Path, run: Docker) -> bool:
    if process.poll() is not None:
        pytest.fail(f"dockerd ended with {process.returncode}: {log.read_text()[-4000:]}")
    return bool(run("version", "--format={{.Server.Version}}"))


@pytest.mark.timeout(SECONDS)
def test_a_docker_engine_builds_the_image_and_tensorflow_computes_in_it(
    docker: Docker, tmp_path: Path
) -> None:
    base = _base(docker, tmp_path)

    line = LINE.split()
    docker("build", "--network=host", f"--build-arg=BASE={base}", *line, "-t", "trainer", ".")

    computed = "import os, tensorflow as tf; print(os.getuid(), int(tf.reduce_sum([20, 22])))"
    inside = ("run", "--rm", "--network=none", "--read-only", "--tmpfs=/tmp")
    said = docker(*inside, "--entrypoint=python", "trainer", "-c", computed)
    assert said.split() == ["1000", "42"]
    assert "usage: tf-trainer" in docker(*inside, "trainer", "--help")


def _base(docker: Docker, folder: Path) -> str:
    """The project's base with this machine's pip settings, as an image of that engine."""
    tool = buildah.ready(default_layout().cache)
    packages.ensure(packages.IMAGE, default_layout())
    name, archive, context = base_image.ensure(tool), folder / "base.tar", folder / "base"
    tool.save(name, archive)
    docker("load", "--input", archive)
    archive.unlink()
    context.mkdir()
    (context / "Dockerfile").write_text(DOCKERFILE.format(base=name))
    (context / "pip.conf").write_text(pip_settings.of_this_machine(os.environ))
    shutil.copytree("/etc/ssl/certs", context / "certs")
    docker("build", "--tag=base", context)
    return "base"
