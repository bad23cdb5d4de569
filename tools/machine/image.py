"""`image`: build an image if its inputs changed, load it where it is not yet."""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from . import base_image, buildah, image_load, packages, pip_settings
from .commands import run, succeeds
from .exclusive import exclusively
from .failure import MachineError
from .health import is_well
from .image_inputs import TrainerImage, key, stage
from .layout import Layout
from .user import require_root

_CERTIFICATES = Path("/etc/ssl/certs")


@dataclass(frozen=True)
class Built:
    """What the cache remembers of an image: from which inputs it was made, and what came out."""

    inputs: str
    digest: str
    size: int


def image(wanted: TrainerImage, layout: Layout, load: str) -> str:
    """Build and load; return the image's name. `load` is "", "none" or "kind:NAME"."""
    begun = time.monotonic()
    if not (wanted.context / wanted.dockerfile).exists():
        raise MachineError(f"there is no {wanted.dockerfile} in {wanted.context}")
    if load not in ("", "none") and not load.startswith("kind:"):
        raise MachineError(f"--load {load}: say kind:NAME or none")
    with exclusively(layout, "image"):
        if _docker_answers():
            return _by_docker(wanted, layout, load)
        return _by_buildah(wanted, layout, load, begun)


def _by_buildah(wanted: TrainerImage, layout: Layout, load: str, begun: float) -> str:
    require_root(
        "building the image without a Docker engine",
        why="it mounts file systems",
        instead="start a Docker engine that you may use",
    )
    packages.ensure(packages.IMAGE, layout)
    if wanted.below:
        _by_buildah(wanted.below, layout, "none", begun)
    folder = layout.cache / "images" / wanted.name.replace("/", "_").replace(":", "_")
    inputs = _inputs(wanted)
    built = _remembered(folder)
    if built is None or built.inputs != inputs:
        built = _build(wanted, layout, folder, inputs)
        done = f"built {wanted.name} in {time.monotonic() - begun:.0f} s"
    else:
        done = f"{wanted.name} is built already"
    print(f"{done}: {built.size / 1e9:.2f} GB unpacked", file=sys.stderr, flush=True)
    if load.startswith("kind:"):
        archive = folder / "image.tar"
        buildah.ready(layout.cache).save(wanted.name, archive)
        image_load.into_kind(archive, load.removeprefix("kind:"))
        archive.unlink()
    elif load == "" and _goes_to_ours(layout):
        _load(wanted, layout, folder, built)
    elif load == "":
        _say_what_to_push(
            buildah.ready(layout.cache).push_command(wanted.name, f"docker://{_there(wanted)}")
        )
    return wanted.name


def _inputs(wanted: TrainerImage) -> str:
    """What tells an image that is built whether it is still the one that is wanted."""
    if wanted.below:
        return key(wanted, (_inputs(wanted.below),))
    ours = () if wanted.base else (base_image.base_name(), *base_image.PACKAGES)
    return key(wanted, (platform.machine(), *ours))


def _build(wanted: TrainerImage, layout: Layout, folder: Path, inputs: str) -> Built:
    tool = buildah.ready(layout.cache)
    if not wanted.below:
        wanted = replace(wanted, base=wanted.base or base_image.ensure(tool))
    print(f"building {wanted.name} ...", file=sys.stderr, flush=True)
    pip = layout.cache / "images" / "pip.conf"
    pip.parent.mkdir(parents=True, exist_ok=True)
    pip.touch(mode=0o600)
    pip.write_text(pip_settings.of_this_machine(os.environ))
    mounted = [f"{_CERTIFICATES}:{_CERTIFICATES}:ro", f"{pip}:/etc/pip.conf:ro"]
    links = Path(os.environ.get("PIP_FIND_LINKS", ""))
    if links.is_absolute() and links.is_dir():
        mounted.append(f"{links}:{links}:ro")
    volumes = [word for volume in mounted for word in ("--volume", volume)]
    staged = stage(wanted, Path(tempfile.mkdtemp(prefix="context-", dir=tool.folder)))
    try:
        tool.build(
            [*wanted.arguments, *volumes, "-f", staged.context / wanted.dockerfile, staged.context],
            log=layout.cache / "images" / "build.log",
        )
    finally:
        pip.unlink()
        shutil.rmtree(staged.context)
    (folder / "built.json").unlink(missing_ok=True)
    digest = tool.export(wanted.name, folder / "oci")
    built = Built(inputs, digest, tool.size(wanted.name))
    (folder / "built.json").write_text(json.dumps(asdict(built)))
    return built


def _remembered(folder: Path) -> Built | None:
    try:
        return Built(**json.loads((folder / "built.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def _load(wanted: TrainerImage, layout: Layout, folder: Path, built: Built) -> None:
    if image_load.loaded_digest(layout, wanted.name) == built.digest:
        print("the test cluster has it already", file=sys.stderr)
        return
    begun = time.monotonic()
    image_load.into_cluster(layout, wanted.name, folder / "oci")
    took = time.monotonic() - begun
    print(f"loaded it into the test cluster in {took:.1f} s", file=sys.stderr)


def _by_docker(wanted: TrainerImage, layout: Layout, load: str) -> str:
    """A Docker engine keeps its own cache of layers, and can ask a registry for the base."""
    if wanted.below:
        _by_docker(wanted.below, layout, "none")
    dockerfile = wanted.context / wanted.dockerfile
    run(["docker", "build", *wanted.arguments, "-f", dockerfile, wanted.context])
    size = int(run(["docker", "image", "inspect", "-f", "{{.Size}}", wanted.name]))
    print(f"built {wanted.name} with Docker: {size / 1e9:.2f} GB unpacked", file=sys.stderr)
    if load.startswith("kind:"):
        kind = load.removeprefix("kind:")
        run(["kind", "load", "docker-image", wanted.name, "--name", kind])
    elif load == "" and _goes_to_ours(layout):
        image_load.from_docker(layout, wanted.name)
    elif load == "":
        there = _there(wanted)
        _say_what_to_push(f"docker tag {wanted.name} {there} && docker push {there}")
    return wanted.name


def _goes_to_ours(layout: Layout) -> bool:
    """Whether the test cluster is up, and KUBECONFIG names no other."""
    is_named = os.environ.get("KUBECONFIG", "") in ("", str(layout.kubeconfig))
    return is_named and is_well(f"unix:{layout.containerd_socket}")


def _there(wanted: TrainerImage) -> str:
    """What it could be called in a registry."""
    repository, _, _ = wanted.name.rpartition(":")
    return f"REGISTRY/{repository.rpartition('/')[2]}:TAG"


def _say_what_to_push(command: str) -> None:
    print(
        "the nodes of your cluster must be able to pull it:\n"
        f"  {command}\n"
        "or, for kind: make image LOAD=kind:NAME",
        file=sys.stderr,
    )


def _docker_answers() -> bool:
    return succeeds(["docker", "info"])
