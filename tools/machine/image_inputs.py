"""What an image is made from, so that it is built again only when that has changed."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from .failure import MachineError

REPOSITORY = Path(__file__).parents[2]
DOCKERFILE = Path("trainer/Dockerfile")
STAND_IN = "serving-stand-in"
"""The target that is a layer over the trainer image, for tests: tests/serving/stand_in."""
STAND_IN_DOCKERFILE = Path("tests/serving/stand_in/image/Dockerfile")
# 2020-02-02: late enough for zip files, which know no time before 1980.
_TIME = 1580601600
_NO_INPUT = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "build", "dist"}


@dataclass(frozen=True)
class TrainerImage:
    """One image to be had: `context` is the repository's root, `target` a stage of it.

    `tensorflow` and `base` are the Dockerfile's TF_VERSION and BASE, "" for its own. With the
    target STAND_IN they are those of the trainer image below it.
    """

    context: Path
    version: str
    target: str = "cpu"
    tensorflow: str = ""
    base: str = ""

    @property
    def name(self) -> str:
        """What the image is called on this machine, its tag included."""
        target = "" if self.target in ("cpu", STAND_IN) else f"-{self.target}"
        tensorflow = f"-tf{self.tensorflow}" if self.tensorflow else ""
        repository = "tf-cluster-test/serving-stand-in" if self.below else "tf-cluster-trainer"
        return f"localhost/{repository}:{self.version}{target}{tensorflow}"

    @property
    def below(self) -> TrainerImage | None:
        """The trainer image that this one is a layer over, if it is."""
        return replace(self, target="cpu") if self.target == STAND_IN else None

    @property
    def dockerfile(self) -> Path:
        """Its Dockerfile, in the context."""
        return STAND_IN_DOCKERFILE if self.below else DOCKERFILE

    @property
    def arguments(self) -> list[str]:
        """What a build is told of it, but for the folder."""
        given = {"BASE": self.base, "TF_VERSION": self.tensorflow}
        if self.below:
            given = {"BASE": self.below.name}
        named = [w for arg, v in given.items() if v for w in ("--build-arg", f"{arg}={v}")]
        return ["--target", self.target, "--tag", self.name, *named]


def trainer_version(context: Path) -> str:
    """The version in trainer/pyproject.toml, which is also the image's tag."""
    text = (context / "trainer" / "pyproject.toml").read_text()
    found = re.search(r'^version\s*=\s*"([^"]+)"', text, flags=re.MULTILINE)
    if not found:
        raise MachineError("trainer/pyproject.toml names no version; pass --version")
    return found.group(1)


def copied(dockerfile: str) -> list[str]:
    """The paths, or patterns of paths, that its COPY lines take from the build context."""
    paths: list[str] = []
    for line in dockerfile.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True) if line.startswith("COPY ") else []
        plain = [word for word in words[1:] if not word.startswith("--")]
        if not any(word.startswith("--from") for word in words):
            paths += plain[:-1]
    return paths


def key(image: TrainerImage, further: Iterable[str]) -> str:
    """Changes with the Dockerfile, any file it copies, the target, or one of `further`."""
    digest = hashlib.sha256(repr((image.name, *image.arguments, *further)).encode())
    for name in inputs(image):
        file = image.context / name
        digest.update(repr((str(name), _mode(file), file.stat().st_size)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


def inputs(image: TrainerImage) -> Iterator[Path]:
    """Every file that the build reads, relative to the context."""
    dockerfile = image.context / image.dockerfile
    for pattern in [str(image.dockerfile), *copied(dockerfile.read_text())]:
        for source in sorted(image.context.glob(pattern)):
            for file in _files(source):
                yield file.relative_to(image.context)


def stage(image: TrainerImage, folder: Path) -> TrainerImage:
    """Copy the inputs to `folder`, all with one time and plain modes: the image of there.

    buildah's cache looks at both, so a second clone would get no layer from it otherwise.
    """
    for name in inputs(image):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(image.context / name, copy)
        copy.chmod(_mode(image.context / name))
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir():
            path.chmod(0o755)
        os.utime(path, (_TIME, _TIME))
    return replace(image, context=folder)


def _mode(file: Path) -> int:
    return 0o755 if file.stat().st_mode & 0o100 else 0o644


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(
            name for name in folders if name not in _NO_INPUT and not name.endswith(".egg-info")
        )
        for name in sorted(names):
            if not name.endswith(".pyc"):
                yield Path(folder, name)
