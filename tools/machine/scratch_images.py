"""Container images that hold one static program: made here, without an image builder."""

from __future__ import annotations

import hashlib
import io
import json
import platform
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class ScratchImage:
    """`links` are further names of the program inside the image (busybox's applets)."""

    name: str
    program: Path
    target: str
    links: tuple[str, ...] = ()


def archive(images: Sequence[ScratchImage]) -> bytes:
    """A tar archive in `docker save`'s form with all the images; the same input, the same bytes."""
    listing = []
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for image in images:
            layer = _layer(image)
            digest = hashlib.sha256(layer).hexdigest()
            config = _config(image, digest)
            config_file = f"{hashlib.sha256(config).hexdigest()}.json"
            _add(tar, config_file, config)
            _add(tar, f"{digest}.tar", layer)
            listing.append(
                {"Config": config_file, "RepoTags": [image.name], "Layers": [f"{digest}.tar"]}
            )
        _add(tar, "manifest.json", json.dumps(listing).encode())
    return out.getvalue()


def _config(image: ScratchImage, digest: str) -> bytes:
    machine = platform.machine()
    document = {
        "architecture": _ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Entrypoint": [f"/{image.target}"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{digest}"]},
    }
    return json.dumps(document).encode()


def _layer(image: ScratchImage) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder in ("bin", "etc", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
            tar.addfile(entry)
        _add(tar, image.target, image.program.read_bytes(), 0o755)
        for link in image.links:
            entry = tarfile.TarInfo(f"bin/{link}")
            entry.type, entry.linkname = tarfile.SYMTYPE, f"/{image.target}"
            tar.addfile(entry)
    return out.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    tar.addfile(entry, io.BytesIO(data))
