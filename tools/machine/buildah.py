"""buildah with a storage of its own in the user's cache; it needs no daemon and no registry."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import mounts
from .commands import run, succeeds
from .failure import MachineError


@dataclass(frozen=True)
class Buildah:
    """`folder` holds the storage; `driver` is `overlay` where the kernel lets us, else `vfs`."""

    folder: Path
    driver: str

    @property
    def _command(self) -> list[str]:
        storage = ["--root", f"{self.folder}/storage", "--runroot", f"{self.folder}/run"]
        return ["buildah", *storage, "--storage-driver", self.driver]

    def has(self, name: str) -> bool:
        """Whether the storage has an image of that name."""
        return succeeds([*self._command, "inspect", "--type", "image", name])

    def commit_folder(self, root: Path, name: str) -> None:
        """Make an image of one layer from a folder."""
        container = run([*self._command, "from", "scratch"]).strip()
        run([*self._command, "add", "-q", container, root, "/"])
        run([*self._command, "commit", "-q", "--rm", container, name])

    def build(self, arguments: Sequence[str | Path], log: Path) -> None:
        """Run a Dockerfile; what it says goes to the log, and its end into a MachineError."""
        isolated = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
        command = [*self._command, "bud", "--layers", "--pull-never", *map(str, arguments)]
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            with log.open("wb") as out:
                done = subprocess.run(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    env=isolated,
                    check=False,
                )
        finally:
            self.release()
        if done.returncode:
            said = log.read_text(errors="replace")[-6000:]
            raise MachineError(f"building the image failed (all of it: {log}):\n{said}")

    def export(self, name: str, layout: Path) -> str:
        """Write the image as an OCI layout folder and return its manifest's digest.

        zstd at its lowest level: half the time of gzip, and both are smaller than the disk is slow.
        """
        shutil.rmtree(layout, ignore_errors=True)
        layout.parent.mkdir(parents=True, exist_ok=True)
        light = ["--compression-format", "zstd", "--compression-level", "1"]
        run([*self._command, "push", "-q", *light, name, f"oci:{layout}:{name}"])
        self.release()
        index = json.loads((layout / "index.json").read_text())
        digest: str = index["manifests"][0]["digest"]
        return digest

    def save(self, name: str, file: Path) -> None:
        """Write the image as a `docker save` archive."""
        file.unlink(missing_ok=True)
        run([*self._command, "push", "-q", name, f"docker-archive:{file}:{name}"])
        self.release()

    def push_command(self, name: str, to: str) -> str:
        """What a person types to copy the image from this storage to a registry."""
        return shlex.join([*self._command, "push", name, to])

    def size(self, name: str) -> int:
        """Bytes of all layers, unpacked."""
        listed = json.loads(run([*self._command, "images", "--json", name]))
        return _bytes(listed[0]["size"])

    def release(self) -> None:
        """Let go of the mount that the overlay driver leaves behind."""
        mounts.remove(self.folder)


def ready(cache: Path) -> Buildah:
    """buildah with the quickest storage that works here."""
    folder = cache / "buildah"
    folder.mkdir(parents=True, exist_ok=True)
    driver = "overlay" if _overlay_works(folder) else "vfs"
    if driver == "vfs":
        print("this kernel lets us mount no overlay: the build copies every layer", file=sys.stderr)
    return Buildah(folder, driver)


def _overlay_works(folder: Path) -> bool:
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        parts = [Path(scratch, name) for name in ("lower", "upper", "work", "merged")]
        for part in parts:
            part.mkdir()
        lower, upper, work, merged = parts
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        if not succeeds(["mount", "-t", "overlay", "overlay", "-o", options, str(merged)]):
            return False
        return succeeds(["umount", merged])


def _bytes(text: str) -> int:
    """`1.72 GB`, as buildah prints it, in bytes."""
    number, unit = text.split()
    return int(float(number) * {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}[unit.upper()])
