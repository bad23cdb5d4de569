"""MNIST's files: read, fetched, and what is said when they are not there or not theirs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tf_cluster_trainer.examples import mnist

from tests.programs import idx


class Requests(SimpleHTTPRequestHandler):
    """Serves a folder and keeps what it was asked for."""

    asked: list[str]

    def __init__(self, *arguments: Any, asked: list[str], **keywords: Any) -> None:
        self.asked = asked
        super().__init__(*arguments, **keywords)

    def do_GET(self) -> None:
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *arguments: Any) -> None:
        pass


class Mirror:
    """An address that has the files of a folder, and what was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []
        handler = partial(Requests, directory=str(folder), asked=self.asked)
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[Mirror]:
    mirror = Mirror(tmp_path / "mirror")
    idx.write(mirror.folder)
    serving = Thread(target=mirror.server.serve_forever, args=(0.05,))
    serving.start()
    yield mirror
    mirror.server.shutdown()
    serving.join()
    mirror.server.server_close()


@pytest.fixture
def hashes_of_the_mirror(mirror: Mirror, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in mnist.SHA256:
        content = (mirror.folder / name).read_bytes()
        monkeypatch.setitem(mnist.SHA256, name, hashlib.sha256(content).hexdigest())


def context(data: Path, mirror: str = "") -> Any:
    return SimpleNamespace(data_dir=data, flags=mnist.MnistFlags(mirror=mirror))


def training_set(data: Path, mirror: str = "") -> tuple[Any, Any]:
    """All that `dataset` gives."""
    read = list(mnist.Mnist().dataset(context(data, mirror), None).as_numpy_iterator())
    return np.array([image for image, _ in read]), np.array([label for _, label in read])


@pytest.mark.parametrize("packed", [True, False], ids=["packed", "unpacked"])
def test_the_copied_files_are_read_as_they_are(tmp_path: Path, packed: bool) -> None:
    idx.write(tmp_path / "mnist", packed=packed)

    images, labels = training_set(tmp_path)

    digits = idx.load_digits()
    order = np.random.default_rng(7).permutation(len(digits.target))[idx.TEST :]
    assert labels.tolist() == digits.target[order].tolist()
    # The middle of each three by three pixels is a pixel of the digit.
    assert images.shape == (1437, 28, 28, 1)
    assert np.allclose(images[:, 3:26:3, 3:26:3, 0], digits.images[order] / 16, atol=1 / 255)
    assert not images[:, :2].any()


@pytest.mark.usefixtures("hashes_of_the_mirror")
def test_files_that_are_missing_are_fetched_once(tmp_path: Path, mirror: Mirror) -> None:
    idx.write(tmp_path / "copied/mnist", packed=False)
    (tmp_path / "copied/mnist/train-images-idx3-ubyte").unlink()

    first = training_set(tmp_path / "data", mirror.address)
    again = training_set(tmp_path / "data", mirror.address)
    training_set(tmp_path / "copied", mirror.address)

    names = list(mnist.SHA256)
    assert mirror.asked == [*(f"/{name}" for name in names), f"/{names[0]}"]
    assert sorted(path.name for path in (tmp_path / "data/mnist").iterdir()) == sorted(names)
    assert len(first[1]) == 1437
    assert np.array_equal(first[0], again[0])


def test_a_file_with_another_hash_is_not_kept(tmp_path: Path, mirror: Mirror) -> None:
    with pytest.raises(ValueError, match=r"idx3-ubyte.gz has the SHA-256 [0-9a-f]{64}, not 440fca"):
        training_set(tmp_path / "data", mirror.address)

    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("mirror", ["http://127.0.0.1:9", ""], ids=["no answer", "no mirror"])
def test_without_files_and_mirror_it_says_what_to_copy_where(tmp_path: Path, mirror: str) -> None:
    with pytest.raises(FileNotFoundError) as error:
        training_set(tmp_path, mirror)

    assert f"copy {', '.join(mnist.SHA256)} into {tmp_path}/mnist, packed or not" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("train-images-idx3-ubyte", b"<html>no such page</html>", "is no file of MNIST's form"),
        ("train-images-idx3-ubyte.gz", b"<html>no such page</html>", "is not packed by gzip"),
    ],
)
def test_a_file_of_another_form_is_named(
    tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    idx.write(tmp_path / "mnist", packed=name.endswith(".gz"))
    (tmp_path / "mnist" / name).write_bytes(content)

    with pytest.raises(ValueError, match=f"{name} {words}"):
        training_set(tmp_path)


def test_images_of_another_size_are_refused(tmp_path: Path) -> None:
    idx.write(tmp_path / "mnist", packed=False)
    file = tmp_path / "mnist/train-images-idx3-ubyte"
    content = bytearray(file.read_bytes())
    content[8:16] = (32).to_bytes(4, "big") * 2
    file.write_bytes(content)

    with pytest.raises(ValueError, match="begins with 00 00 08 03 00 00 05 9d 00 00 00 20"):
        training_set(tmp_path)
