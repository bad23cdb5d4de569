import json
import tarfile
from pathlib import Path

from tools.machine.image_load import names_and_digests, send

_LISTED = """\
REF                 TYPE                                       DIGEST     SIZE     PLATFORMS
localhost/a:1       application/vnd.oci.image.manifest.v1+json sha256:aaa 1.0 MiB  linux/amd64
sha256:0123         application/vnd.oci.image.manifest.v1+json sha256:aaa 1.0 MiB  linux/amd64
"""


def test_an_image_has_the_digest_that_containerd_lists() -> None:
    assert names_and_digests(_LISTED) == {
        "localhost/a:1": "sha256:aaa",
        "sha256:0123": "sha256:aaa",
    }


def test_layers_that_are_there_are_not_sent_but_the_manifest_always_is(tmp_path: Path) -> None:
    blobs = tmp_path / "oci/blobs/sha256"
    blobs.mkdir(parents=True)
    for name in ("manifest", "old-layer", "new-layer"):
        (blobs / name).write_text(name)
    index = {"manifests": [{"digest": "sha256:manifest"}]}
    (tmp_path / "oci/index.json").write_text(json.dumps(index))
    (tmp_path / "oci/oci-layout").write_text("{}")
    with tarfile.open(tmp_path / "sent.tar", "w") as tar:
        send(tar, tmp_path / "oci", {"sha256:manifest", "sha256:old-layer"})
    with tarfile.open(tmp_path / "sent.tar") as tar:
        names = tar.getnames()
    assert "blobs/sha256/new-layer" in names
    assert "blobs/sha256/manifest" in names
    assert "blobs/sha256/old-layer" not in names
