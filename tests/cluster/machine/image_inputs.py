"""What the trainer image is made from, so that it is built again only when that has changed."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from .failure import MachineError

REPOSITORY = Path(__file__).parents[3]
DOCKERFILE = Path("trainer/Dockerfile")
_NO_INPUT = {"__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", "build", "dist"}


@dataclass(frozen=True)
class TrainerImage:
    """One image to be had: `context` is the repository's root, `target` a stage of it."""

    context: Path
    version: str
    target: str = "cpu"

    @property
    def name(self) -> str:
        suffix = "" if self.target == "cpu" else f"-{self.target}"
        return f"localhost/tf-cluster-trainer:{self.version}{suffix}"


def trainer_version(context: Path) -> str:
    """The version in trainer/pyproject.toml, which is also the image's tag."""
    text = (context / "trainer" / "pyproject.toml").read_text()
    found = re.search(r'^version\s*=\s*"([^"]+)"', text, flags=re.MULTILINE)
    if not found:
        raise MachineError("trainer/pyproject.toml names no version; pass --version")
    return found.group(1)


def copied(dockerfile: str) -> list[str]:
    """The paths that its COPY lines take from the build context."""
    paths: list[str] = []
    for line in dockerfile.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True) if line.startswith("COPY ") else []
        plain = [word for word in words[1:] if not word.startswith("--")]
        if not any(word.startswith("--from") for word in words):
            paths += plain[:-1]
    return paths


def key(image: TrainerImage, further: Iterable[str]) -> str:
    """Changes with the Dockerfile, any file it copies, the target, or one of `further`."""
    digest = hashlib.sha256(repr((image.name, image.target, *further)).encode())
    dockerfile = image.context / DOCKERFILE
    sources = [DOCKERFILE, *map(Path, copied(dockerfile.read_text()))]
    for source in sources:
        for file in _files(image.context / source):
            name = file.relative_to(image.context)
            executable = bool(file.stat().st_mode & 0o100)
            digest.update(repr((str(name), executable, file.stat().st_size)).encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()


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
