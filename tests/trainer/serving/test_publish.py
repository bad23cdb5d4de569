"""`tf-trainer publish-export`: a whole copy under the next number, or nothing."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer.serving import publish as publishing
from tf_cluster_trainer.serving.check import WrongPlaceError, checked
from tf_cluster_trainer.serving.compare import TOLERANCE
from tf_cluster_trainer.serving.publish import publish

from tests.trainer.serving.exports import DATA, RECORD, cut, made, put

MANIFEST = "assets.extra/tf-cluster-manifest.json"


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one version; nobody changes it."""
    return made(tmp_path_factory.mktemp("made")).parent


def published(source: Path, target: Path, number: int | None = None) -> dict[str, Any]:
    return publish(source, target, number, TOLERANCE)


def held(version: Path) -> dict[str, bytes]:
    """All files of a version but the manifest."""
    return {
        str(path.relative_to(version)): path.read_bytes()
        for path in version.rglob("*")
        if path.is_file() and str(path.relative_to(version)) != MANIFEST
    }


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_version_gets_the_next_number_with_the_hash_of_each_file(
    export: Path, tmp_path: Path
) -> None:
    model = tmp_path / "models" / "digits"
    (model / "3").mkdir(parents=True)

    first = published(export, model)

    size = sum(map(len, held(export / "1").values()))
    assert first == {"version": 1, "number": 4, "bytes": size, "from": 1}
    assert held(model / "4") == held(export / "1")
    told = json.loads((model / "4" / MANIFEST).read_text())
    assert told["from"] == {"directory": str(export), "number": 1}
    assert told["files"] == {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in held(export / "1").items()
    }
    assert names(model) == ["3", "4"]
    assert checked(model / "4", TOLERANCE).problem is None

    # From there it can be published again: its manifest is of that copy then.
    again = published(model, tmp_path / "other", 4)
    assert (again["number"], again["from"]) == (1, 4)


@pytest.mark.parametrize("change", [put(DATA, b"\0", b"\1"), put(RECORD, b": 7,", b": 8,")])
def test_a_published_version_that_was_changed_is_a_problem(
    export: Path, tmp_path: Path, change: Any
) -> None:
    published(export, tmp_path / "model")
    change(tmp_path / "model" / "1")
    problem = checked(tmp_path / "model" / "1", TOLERANCE).problem or ""
    assert problem.startswith("it is not as it was published: ")
    assert problem.endswith(" has another SHA-256 than in the manifest")


def test_what_is_no_good_is_not_published_and_leaves_nothing(export: Path, tmp_path: Path) -> None:
    source = tmp_path / "export"
    shutil.copytree(export, source)
    cut(DATA)(source / "1")
    with pytest.raises(WrongPlaceError, match=r"version 1 of .* is not published: it is half cop"):
        published(source, tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_a_link_in_a_version_is_not_followed(export: Path, tmp_path: Path) -> None:
    source = tmp_path / "export"
    shutil.copytree(export, source)
    (source / "1" / "assets" / "secret").symlink_to("/etc/hostname")
    with pytest.raises(WrongPlaceError, match="assets/secret is a link, or no file"):
        published(source, tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("place", "says"), [(".", "where the version is"), ("1/new", "in the ver")]
)
def test_a_version_is_not_published_to_its_own_place(
    export: Path, tmp_path: Path, place: str, says: str
) -> None:
    source = tmp_path / "export"
    shutil.copytree(export, source)
    with pytest.raises(WrongPlaceError, match=says):
        published(source, source / place)
    assert held(source / "1") == held(export / "1")
    assert names(source) == ["1"]


def test_several_that_publish_at_once_each_get_a_number(export: Path, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        found = [*pool.map(lambda _: published(export, tmp_path / "model"), range(3))]
    assert sorted(one["number"] for one in found) == [1, 2, 3]
    assert names(tmp_path / "model") == ["1", "2", "3"]
    for number in range(1, 4):
        assert held(tmp_path / "model" / str(number)) == held(export / "1")


def test_what_a_killed_publisher_left_goes_and_what_another_writes_stays(
    export: Path, tmp_path: Path
) -> None:
    left, fresh = (tmp_path / f"{publishing.BEGUN}{name}" for name in ("left", "fresh"))
    for one in (left, fresh):
        one.mkdir()
        (one / "saved_model.pb").touch()
    long_ago = time.time() - publishing.LEFT_SECONDS - 60
    for path in (left / "saved_model.pb", left):
        os.utime(path, (long_ago, long_ago))
    published(export, tmp_path)
    assert names(tmp_path) == [fresh.name, "1"]


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A volume on which no version has room."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to mount a volume that can be filled")
    place = tmp_path / "volume"
    place.mkdir()
    mount = ("mount", "-t", "tmpfs", "-o", "size=16k", "tf-cluster-test", str(place))
    done = subprocess.run(mount, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"this machine lets nobody mount a volume: {done.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(("umount", "--lazy", place), check=True)


def test_a_full_volume_is_said_and_nothing_is_left_there(export: Path, small: Path) -> None:
    with pytest.raises(WrongPlaceError, match=r"model is full: the version has \d+ bytes"):
        published(export, small / "model")
    assert names(small) == []


STOPPED = """
import os, signal, sys
from pathlib import Path
from tf_cluster_trainer.serving import main, publish
copy = publish._copy
def stop(source, target):
    os.kill(os.getpid(), signal.SIGTERM)
    return copy(source, target)
publish._copy = stop
sys.exit(main.publish_export(sys.argv[1:]))
"""


def test_one_that_is_stopped_leaves_nothing(export: Path, tmp_path: Path) -> None:
    command = (sys.executable, "-c", STOPPED, str(export), str(tmp_path / "model"))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 42, done.stderr
    assert not (tmp_path / "model").exists()
