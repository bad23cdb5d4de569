"""Bringing a built image to where pods start from it."""

from __future__ import annotations

import json
import subprocess
import tarfile
import tempfile
from pathlib import Path

from .commands import run
from .failure import MachineError
from .layout import Layout
from .system_images import ctr


def loaded_digest(layout: Layout, name: str) -> str:
    """The manifest's digest under that name in the test cluster's containerd; "" where none is."""
    for line in ctr(layout, "images", "list", f"name=={name}").splitlines()[1:]:
        fields = line.split()
        if fields[0] == name:
            return fields[2]
    return ""


def into_cluster(layout: Layout, oci: Path) -> None:
    """Import an OCI layout folder; layers that containerd has already are not sent again."""
    there = set(ctr(layout, "content", "list", "-q").split())
    address = ["--address", str(layout.containerd_socket), "-n", "k8s.io"]
    command = ["ctr", *address, "images", "import", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as importing:
        assert importing.stdin is not None and importing.stdout is not None
        try:
            with tarfile.open(fileobj=importing.stdin, mode="w|") as tar:
                _send(tar, oci, there)
            importing.stdin.close()
        except BrokenPipeError:
            pass
        said = importing.stdout.read().decode(errors="replace")
    if importing.returncode:
        raise MachineError(f"containerd did not take the image:\n{said}")


def into_kind(archive: Path, cluster: str) -> None:
    """Load a `docker save` archive into the nodes of a kind cluster."""
    run(["kind", "load", "image-archive", str(archive), "--name", cluster])


def from_docker(layout: Layout, name: str) -> None:
    """Bring an image of this machine's Docker into the test cluster."""
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch, "image.tar")
        run(["docker", "save", "-o", file, name])
        ctr(layout, "images", "import", file)


def _send(tar: tarfile.TarFile, oci: Path, there: set[str]) -> None:
    for name in ("oci-layout", "index.json"):
        tar.add(oci / name, arcname=name)
    manifests = json.loads((oci / "index.json").read_text())["manifests"]
    always = {manifest["digest"] for manifest in manifests}
    for blob in sorted((oci / "blobs" / "sha256").iterdir()):
        digest = f"sha256:{blob.name}"
        if digest in always or digest not in there:
            tar.add(blob, arcname=f"blobs/sha256/{blob.name}")
