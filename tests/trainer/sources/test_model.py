"""A model at an address becomes the versions of a directory, or words that say why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from .serving import content, serving
from .test_sources import of, tar

VERSION = ("1/saved_model.pb", b"model"), ("1/variables/variables.index", b"index")
PLACE = "models.digits.source.url"


def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = (sys.executable, "-m", "tf_cluster_trainer.sources.model", *arguments)
    return subprocess.run(command, capture_output=True, text=True, check=False)


def files(directory: Path) -> set[str]:
    return {str(path.relative_to(directory)) for path in directory.rglob("*") if path.is_file()}


def test_the_versions_of_an_archive_lie_in_the_models_directory(tmp_path: Path) -> None:
    body = tar(*VERSION, ("2/saved_model.pb", b"newer"))
    with serving(content(body)) as (address, _):
        done = run((f"{address}/digits.tar.gz", of(body), str(tmp_path), PLACE))
    assert done.returncode == 0, done.stderr
    assert f"is in {tmp_path}" in done.stdout
    assert files(tmp_path) == {
        "1/saved_model.pb",
        "1/variables/variables.index",
        "2/saved_model.pb",
    }


def test_a_second_try_replaces_what_the_first_left(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "half").write_text("")
    (tmp_path / ".part" / "model").mkdir(parents=True)
    (tmp_path / ".part" / "model" / "half").write_text("")
    body = tar(*VERSION)
    with serving(content(body)) as (address, _):
        done = run((f"{address}/digits.tar.gz", of(body), str(tmp_path), PLACE))
    assert done.returncode == 0, done.stderr
    assert files(tmp_path) == {name for name, _ in VERSION}


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (b"no archive", 200, "it is no .tar.gz, no .zip"),
        (b"", 404, "HTTP 404"),
        (b"", 403, "it asks for a login, so it does not exist or is not public\n"),
    ],
)
def test_what_is_no_model_is_said_with_the_values_key(
    body: bytes, status: int, words: str, tmp_path: Path
) -> None:
    with serving(content(body, status)) as (address, _):
        done = run((f"{address}/digits.tar.gz", of(body), str(tmp_path), PLACE))
    assert done.returncode == 2
    assert done.stderr.startswith(f"{PLACE}: {address}/digits.tar.gz: ")
    assert words in done.stderr
    assert files(tmp_path) == set()


def test_another_file_than_was_meant_is_refused_by_its_hash(tmp_path: Path) -> None:
    body = tar(*VERSION)
    with serving(content(body)) as (address, _):
        done = run((f"{address}/digits.tar.gz", "ab" * 32, str(tmp_path), PLACE))
    assert done.returncode == 2
    assert f"its sha256 is {of(body)}, but {PLACE}.sha256 says {'ab' * 32}" in done.stderr
    assert files(tmp_path) == set()


def test_wrong_arguments_are_told(tmp_path: Path) -> None:
    done = run(("https://a.example/x.tar.gz",))
    assert done.returncode == 2
    assert done.stderr.startswith("usage: python -m tf_cluster_trainer.sources.model URL SHA256")
