import io
import json
import tarfile
from pathlib import Path

from tools.machine.scratch_images import ScratchImage, archive


def _image(tmp_path: Path) -> ScratchImage:
    program = tmp_path / "program"
    program.write_bytes(b"\x7fELF")
    return ScratchImage("localhost/example:1", program, "bin/busybox", ("sh", "ls"))


def test_an_archive_names_its_image_and_holds_the_program_and_its_links(tmp_path: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(archive([_image(tmp_path)]))) as tar:
        listing = json.load(tar.extractfile("manifest.json") or io.BytesIO())
        layer = tar.extractfile(listing[0]["Layers"][0])
        assert layer is not None
        with tarfile.open(fileobj=layer) as files:
            names = files.getnames()
            link = files.getmember("bin/sh")
    assert listing[0]["RepoTags"] == ["localhost/example:1"]
    assert {"bin/busybox", "bin/sh", "bin/ls"} <= set(names)
    assert link.linkname == "/bin/busybox"


def test_the_same_program_makes_the_same_bytes(tmp_path: Path) -> None:
    image = _image(tmp_path)
    assert archive([image]) == archive([image])
