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


def names_and_digests(listed: str) -> dict[str, str]:
    """Each name in the output of `ctr images list`, and the digest of its manifest."""
    lines = (line.split() for line in listed.splitlines()[1:])
    return {fields[0]: fields[2] for fields in lines}


def loaded_digest(layout: Layout, name: str) -> str:
    """The manifest's digest under that name in the test cluster's containerd; "" where none is."""
    return names_and_digests(ctr(layout, "images", "list")).get(name, "")


def into_cluster(layout: Layout, name: str, oci: Path) -> None:
    """Import an OCI layout folder; layers that containerd has already are not sent again.

    The image that bears the name now is held by another name meanwhile: when the name moves,
    containerd would collect the old image's layers while the new one is being built on them.
    Afterwards all names of the old one go, also the one by its config that the kubelet's side
    of containerd gave it.
    """
    old = loaded_digest(layout, name)
    if old:
        ctr(layout, "images", "tag", "--force", name, f"{name}-replaced")
    try:
        _import(layout, oci, set(ctr(layout, "content", "list", "-q").split()))
    except MachineError:
        # A layer that was there a moment ago may have been collected: send everything.
        ctr(layout, "images", "remove", "--sync", name)
        _import(layout, oci, set())
    for other, digest in names_and_digests(ctr(layout, "images", "list")).items():
        if digest == old and other != name:
            ctr(layout, "images", "remove", other)


def _import(layout: Layout, oci: Path, there: set[str]) -> None:
    address = ["--address", str(layout.containerd_socket), "-n", "k8s.io"]
    command = ["ctr", *address, "images", "import", "-"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as importing:
        assert importing.stdin is not None and importing.stdout is not None
        try:
            with tarfile.open(fileobj=importing.stdin, mode="w|") as tar:
                send(tar, oci, there)
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


def send(tar: tarfile.TarFile, oci: Path, there: set[str]) -> None:
    """Write the OCI layout into the archive, without the blobs named in `there`."""
    for name in ("oci-layout", "index.json"):
        tar.add(oci / name, arcname=name)
    manifests = json.loads((oci / "index.json").read_text())["manifests"]
    always = {manifest["digest"] for manifest in manifests}
    for blob in sorted((oci / "blobs" / "sha256").iterdir()):
        digest = f"sha256:{blob.name}"
        if digest in always or digest not in there:
            tar.add(blob, arcname=f"blobs/sha256/{blob.name}")
