"""The images' locks: what each holds, and which of them a build takes."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
REQUIREMENTS = ROOT / "requirements"
PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)(.*?) ?\\$", re.MULTILINE)
TENSORFLOW = {"trainer": "tensorflow-cpu", "notebook": "tensorflow-cpu", "gpu": "tensorflow"}


def pins(name: str) -> set[tuple[str, ...]]:
    """(package, version, marker) of every line of a lock."""
    return set(PINNED.findall((REQUIREMENTS / f"{name}.txt").read_text()))


def wanted(name: str) -> set[str]:
    lines = (REQUIREMENTS / f"{name}.in").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")}


def default_version() -> str:
    found = re.search(r"^ARG TF_VERSION=(\S+)$", (ROOT / "trainer/Dockerfile").read_text(), re.M)
    assert found
    return found[1]


@pytest.mark.parametrize("name", TENSORFLOW)
def test_each_lock_holds_the_dockerfiles_tensorflow_with_hashes_alone(name: str) -> None:
    assert (TENSORFLOW[name], default_version(), "") in pins(name)
    text = (REQUIREMENTS / f"{name}.txt").read_text()
    assert "://" not in text
    assert text.count("--hash=sha256:") >= len(pins(name))


def test_the_cpu_locks_take_no_gpu_wheel_and_the_gpu_lock_no_cpu_wheel() -> None:
    for name in ("trainer", "notebook"):
        assert ("tensorflow", default_version(), " ; sys_platform == 'never'") in pins(name)
        assert not any(package.startswith("nvidia-") for package, *_ in pins(name))
    assert "tensorflow-cpu" not in {package for package, *_ in pins("gpu")}
    assert {"nvidia-cudnn-cu12", "nvidia-nccl-cu12"} <= {package for package, *_ in pins("gpu")}


def test_the_gpu_image_differs_in_tensorflow_alone() -> None:
    version = default_version()
    assert wanted("trainer") - wanted("gpu") == {f"tensorflow-cpu=={version}"}
    assert wanted("gpu") - wanted("trainer") == {f"tensorflow[and-cuda]=={version}"}


def test_the_notebook_image_has_the_trainers_packages_in_the_trainers_versions() -> None:
    held = {pin[:2] for pin in pins("notebook")}  # markers may be wider: JupyterLab needs more
    assert {pin[:2] for pin in pins("trainer")} <= held
    assert "jupyterlab" in {package for package, *_ in pins("notebook")}


def test_the_packages_extra_is_the_same_tensorflow() -> None:
    assert f'"tensorflow-cpu=={default_version()}"' in (ROOT / "trainer/pyproject.toml").read_text()


@pytest.fixture
def locks(tmp_path: Path) -> Path:
    """A build's folder of locks, and a pip that says what it is given."""
    folder = tmp_path / "locks"
    folder.mkdir()
    shutil.copy(ROOT / "trainer/image/install_lock.sh", folder)
    (folder / "trainer.txt").write_text("tensorflow-cpu==2.21.0 \\\n    --hash=sha256:0\n")
    (folder / "trainer-2.20.0.txt").write_text("tensorflow-cpu==2.20.0 \\\n    --hash=sha256:0\n")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "pip").write_text('#!/bin/sh\necho "pip $*"\n')
    (programs / "python").write_text(f'#!/bin/sh\n[ "$1" = -c ] && echo {folder}\nexit 0\n')
    for program in programs.iterdir():
        program.chmod(0o755)
    return folder


def install(locks: Path, wanted: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", locks / "install_lock.sh", wanted],
        env={**os.environ, "PATH": f"{locks.parent / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("version", "lock"), [("2.21.0", "./trainer.txt"), ("2.20.0", "./trainer-2.20.0.txt")]
)
def test_a_build_takes_the_lock_that_holds_its_tf_version(
    locks: Path, version: str, lock: str
) -> None:
    done = install(locks, f"tensorflow-cpu=={version}")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].endswith(f"--require-hashes -r {lock}")


@pytest.mark.parametrize("version", ["2.19.0", "2.2", "2.21"])
def test_without_such_a_lock_it_says_how_to_make_one(locks: Path, version: str) -> None:
    done = install(locks, f"tensorflow-cpu=={version}")
    assert done.returncode == 1
    assert f"make lock TF_VERSION={version}" in done.stderr
    assert "pip" not in done.stdout
