"""What a whole version is: the same copies, given to the three programs that look at one.

`check-exports` in the trainer's image, `tf-cluster package` where people work, and the script that
each server's pod runs first can't import one another. A row says who has to refuse what: the first
reads everything, the second the names and the manifest, the third the two names without which no
server starts.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster.serving.packing import pack
from tf_cluster.exits import RefusedError
from tf_cluster_trainer.serving.check import checked
from tf_cluster_trainer.serving.compare import TOLERANCE
from tf_cluster_trainer.serving.publish import publish

from tests.trainer.serving.exports import DATA, RECORD, WARM_UP, cut, made, put, without
from tools import ROOT

SCRIPT = ROOT / "charts" / "tf-serving" / "files" / "check.sh"
INDEX = "variables/variables.index"
MANIFEST = "assets.extra/tf-cluster-manifest.json"
EVERYONE = {"check-exports", "package", "the server's pod"}
WITH_CARE = EVERYONE - {"the server's pod"}


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version as a training leaves it; nobody changes it."""
    return made(tmp_path_factory.mktemp("exported"))


@pytest.fixture(scope="module")
def published(exported: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a manifest; nobody changes it."""
    target = tmp_path_factory.mktemp("published") / "model"
    publish(exported.parent, target, None, TOLERANCE)
    return target / "1"


def beside(name: str) -> Callable[[Path], Any]:
    """A file that nobody published."""
    return lambda version: (version / name).write_bytes(b"")


def refusers(version: Path, scratch: Path) -> set[str]:
    """Who refuses a version."""
    found = set()
    if checked(version, TOLERANCE).problem:
        found.add("check-exports")
    try:
        pack(version.parent, int(version.name), scratch / "context")
    except RefusedError:
        found.add("package")
    paths = scratch / "paths"
    paths.write_text(f"digits {version.parent} specific {version.name}\n")
    command = ("sh", str(SCRIPT), str(paths))
    if subprocess.run(command, capture_output=True, check=False).returncode:
        found.add("the server's pod")
    return found


def held(whole: Path, tmp_path: Path, break_it: Callable[[Path], Any] | None) -> set[str]:
    version = Path(shutil.copytree(whole, tmp_path / "model" / "1"))
    if break_it:
        break_it(version)
    return refusers(version, tmp_path)


@pytest.mark.parametrize(
    ("break_it", "who"),
    [
        (None, set()),
        (without("saved_model.pb"), EVERYONE),
        (without(INDEX), EVERYONE),
        (without(DATA), WITH_CARE),
        (without("variables"), {"check-exports"}),
        (cut("saved_model.pb"), {"check-exports"}),
        (cut(DATA), {"check-exports"}),
        (cut(WARM_UP), {"check-exports"}),
        (cut(RECORD), {"check-exports"}),
        (without(WARM_UP), set()),
        (without("assets.extra"), set()),
        (without("fingerprint.pb"), set()),
        (beside("notes.txt"), set()),
    ],
    ids=[
        "whole",
        "no graph",
        "no index",
        "no values",
        "no variables",
        "half a graph",
        "half the values",
        "half a warm-up",
        "half a record",
        "no warm-up",
        "of another program",
        "no fingerprint",
        "more",
    ],
)
def test_half_a_copy_is_refused_by_all_who_can_see_it(
    exported: Path, tmp_path: Path, break_it: Callable[[Path], Any] | None, who: set[str]
) -> None:
    assert held(exported, tmp_path, break_it) == who


@pytest.mark.parametrize(
    ("break_it", "who"),
    [
        (None, set()),
        (without("saved_model.pb"), EVERYONE),
        (without(INDEX), EVERYONE),
        (cut("saved_model.pb"), WITH_CARE),
        (cut(DATA), WITH_CARE),
        (without(WARM_UP), WITH_CARE),
        (without("fingerprint.pb"), WITH_CARE),
        (put(RECORD, b'"step"', b'"step" '), WITH_CARE),
        (beside("notes.txt"), WITH_CARE),
        (cut(MANIFEST), WITH_CARE),
        (put(MANIFEST, b'"files"', b'"file"'), WITH_CARE),
        (without(MANIFEST), set()),
    ],
    ids=[
        "whole",
        "no graph",
        "no index",
        "half a graph",
        "half the values",
        "no warm-up",
        "no fingerprint",
        "one byte more",
        "more",
        "half a manifest",
        "another manifest",
        "no manifest",
    ],
)
def test_what_is_not_as_it_was_published_is_refused_by_all_who_read_manifests(
    published: Path, tmp_path: Path, break_it: Callable[[Path], Any] | None, who: set[str]
) -> None:
    assert held(published, tmp_path, break_it) == who
