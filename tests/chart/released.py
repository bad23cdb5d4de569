"""The chart that users have: what they upgrade from."""

from __future__ import annotations

from pathlib import Path

from tests.chart.helm import CHART, command

# The packages of releases, put here by whoever releases (docs/releasing.md).
FOLDER = Path(__file__).with_name("released")


def last_release(folder: Path) -> Path:
    """The newest released package. While there is none: this chart, packed under version 0.0.1.

    So what carries a version differs from the chart's own, in the labels as in the image's tag.
    """
    found = sorted(FOLDER.glob("tf-cluster-*.tgz"), key=_version)
    if found:
        return found[-1]
    words = ("package", str(CHART), f"--destination={folder}")
    done = command(*words, "--version=0.0.1", "--app-version=0.0.1")
    assert done.returncode == 0, done.stderr
    return folder / "tf-cluster-0.0.1.tgz"


def _version(package: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in package.stem.rpartition("-")[2].split("."))
