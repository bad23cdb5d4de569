"""Fetches a model for TensorFlow Serving: `python -m tf_cluster_trainer.sources.model`.

An init container of the chart tf-serving runs it (docs/serving.md).
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tf_cluster_trainer import exit_codes

from ..config import Download
from .errors import SourceError, UnreachableError
from .fetch import fetch
from .limits import MIB, Limits

MODEL_LIMITS = Limits(download=65_536 * MIB, unpacked=262_144 * MIB, files=1_000_000)
USAGE = "usage: python -m tf_cluster_trainer.sources.model URL SHA256 DIRECTORY PLACE"


def fetch_model(
    source: Download,
    directory: Path,
    place: str,
    log: Callable[[str], None],
    limits: Limits = MODEL_LIMITS,
) -> None:
    """Put what the archive holds into `directory`, each entry by a rename when all of it is there.

    `directory` may be a mount and is the model's: what it has is replaced. `place` is the key of
    the values that names the source. Raises SourceError, UnreachableError and OSError.
    """
    part = directory / ".part"
    shutil.rmtree(part, ignore_errors=True)
    whole = part / "model"
    whole.mkdir(parents=True)
    try:
        fetch(source, whole, part / "scratch", limits, log, place=place)
        for entry in sorted(whole.iterdir()):
            target = directory / entry.name
            if target.is_dir():
                shutil.rmtree(target)
            entry.replace(target)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def main(arguments: Sequence[str]) -> int:
    """Fetch one model; return the exit code: 0, 1 if another try may help, or 2."""
    if len(arguments) != 4:
        print(USAGE, file=sys.stderr)
        return exit_codes.CONFIG
    url, sha256, directory, place = arguments
    try:
        fetch_model(Download(url, sha256), Path(directory), place, print)
    except SourceError as error:
        print(error, file=sys.stderr)
        return exit_codes.CONFIG
    except (UnreachableError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{place}: the model is in {directory}")  # an address may have a signature in it
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
