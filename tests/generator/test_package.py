"""What is installed holds the chart's values and schema, which the repository holds once."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.generator.conftest import ROOT

CHART = ROOT / "charts" / "tf-cluster"
NAMES = ("values.yaml", "values.schema.json")
FOLDER = "tf_cluster/params/schemas"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a source distribution, and a wheel that was made of what it holds."""
    folder = tmp_path_factory.mktemp("dist")
    _build("build_sdist", ROOT / "generator", folder)
    (source,) = folder.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        archive.extractall(folder, filter="data")
    _build("build_wheel", folder / source.name.removesuffix(".tar.gz"), folder)
    return folder


def _build(how: str, project: Path, folder: Path) -> None:
    code = f"from hatchling import build; build.{how}({str(folder)!r})"
    subprocess.run((sys.executable, "-c", code), cwd=project, check=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_repository_holds_it_once(name: str) -> None:
    here = ROOT / "generator" / "src" / FOLDER / name

    assert here.is_symlink()
    assert here.resolve() == CHART / name


@pytest.mark.parametrize("name", NAMES)
def test_a_source_distribution_holds_the_file_itself(built: Path, name: str) -> None:
    (source,) = built.glob("*.tar.gz")

    with tarfile.open(source) as archive:
        (path,) = (one for one in archive.getnames() if one.endswith(f"{FOLDER}/{name}"))
        member = archive.extractfile(path)
        assert member is not None
        assert member.read() == (CHART / name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_wheel_made_of_it_holds_the_file_itself(built: Path, name: str) -> None:
    (wheel,) = built.glob("*.whl")

    with zipfile.ZipFile(wheel) as archive:
        assert archive.read(f"{FOLDER}/{name}") == (CHART / name).read_bytes()


@pytest.mark.parametrize(
    ("chart", "folder"), [("tf-cluster", "chart"), ("tf-serving", "serving_chart")]
)
def test_a_wheel_made_of_it_holds_the_whole_chart_that_is_installed(
    built: Path, chart: str, folder: str
) -> None:
    (wheel,) = built.glob("*.whl")
    source = ROOT / "charts" / chart
    files = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}

    with zipfile.ZipFile(wheel) as archive:
        start = f"tf_cluster/{folder}/"
        held = {name.removeprefix(start) for name in archive.namelist() if name.startswith(start)}
        assert held == files
        for name in files:
            assert archive.read(start + name) == (source / name).read_bytes(), name
