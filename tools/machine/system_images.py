"""The images that the cluster itself runs, made from programs at hand and handed to containerd."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from .commands import run
from .configs import BUSYBOX_IMAGE, COREDNS_IMAGE, PAUSE_IMAGE
from .layout import Layout
from .scratch_images import ScratchImage, archive

BUSYBOX = Path("/bin/busybox")


def ctr(layout: Layout, *arguments: str | Path) -> str:
    """Run containerd's own client in the namespace that the kubelet uses."""
    return run(["ctr", "--address", layout.containerd_socket, "-n", "k8s.io", *arguments])


def present(layout: Layout) -> frozenset[str]:
    """The names of all images in the cluster's containerd."""
    return frozenset(ctr(layout, "images", "list", "-q").split())


def load(layout: Layout, program: Callable[[str], Path]) -> None:
    """Import pause, CoreDNS and busybox where one of them is missing."""
    images = (
        ScratchImage(PAUSE_IMAGE, program("pause"), "pause"),
        ScratchImage(COREDNS_IMAGE, program("coredns"), "coredns"),
        ScratchImage(BUSYBOX_IMAGE, BUSYBOX, "bin/busybox", _applets()),
    )
    if {image.name for image in images} <= present(layout):
        return
    file = layout.cache / "images" / f"system-{_key(images)}.tar"
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_suffix(".part")
        scratch.write_bytes(archive(images))
        scratch.rename(file)
        print(f"made the cluster's own images: {file}", file=sys.stderr)
    ctr(layout, "images", "import", file)


def _applets() -> tuple[str, ...]:
    return tuple(name for name in run([BUSYBOX, "--list"]).split() if name != "busybox")


def _key(images: tuple[ScratchImage, ...]) -> str:
    digest = hashlib.sha256()
    for image in images:
        stat = image.program.stat()
        identity = (image.name, str(image.program), stat.st_size, stat.st_mtime_ns, image.links)
        digest.update(repr(identity).encode())
    return digest.hexdigest()[:16]
