"""The base of the trainer image where no registry can be asked: Debian's own packages."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
import time
from pathlib import Path

from .buildah import Buildah
from .commands import run
from .failure import MachineError
from .mounts import remove as unmount

PACKAGES = ("python3", "python3-venv", "ca-certificates")
# What a base image has no use for; 140 MB of the 275 MB that debootstrap leaves.
_DROPPED = (
    "var/cache/apt",
    "var/lib/apt/lists",
    "usr/share/doc",
    "usr/share/info",
    "usr/share/locale",
    "usr/share/man",
    "var/log",
)


def base_name() -> str:
    """`localhost/tf-cluster-base:` and the code name of the release that this machine runs."""
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    if not release:
        raise MachineError("/etc/os-release names no VERSION_CODENAME: which Debian is this?")
    return f"localhost/tf-cluster-base:{release}"


def ensure(buildah: Buildah) -> str:
    """Make the base unless buildah's storage has it; return its name."""
    name = base_name()
    if buildah.has(name):
        return name
    print(f"making {name} from Debian packages ...", file=sys.stderr, flush=True)
    begun = time.monotonic()
    scratch = Path(tempfile.mkdtemp(prefix="base-", dir=buildah.folder))
    try:
        root = scratch / "root"
        release = name.rsplit(":", 1)[1]
        include = f"--include={','.join(PACKAGES)}"
        described = ["--variant=minbase", include, release, str(root), *_mirror(release)]
        run(["debootstrap", *described], what="debootstrap")
        for path in _DROPPED:
            shutil.rmtree(root / path, ignore_errors=True)
            (root / path).mkdir()
        buildah.commit_folder(root, name)
    finally:
        unmount(scratch)
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"made {name} in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)
    return name


def _mirror(release: str) -> list[str]:
    """The mirror that this machine's own apt uses for the release, if apt says so."""
    if not os.path.lexists("/usr/bin/apt-get"):
        return []
    wanted = [f"Codename: {release}", "Created-By: Packages", "Component: main"]
    targets = run(["apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted]).split()
    return targets[:1]
