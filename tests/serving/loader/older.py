"""The library of the TensorFlow one minor version before ours, fetched once into the user's cache.

`python -m tests.serving.loader.older` fetches it and prints its path.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from tools.machine.layout import default_layout

PINNED = Path(__file__).with_name("older.txt")
LIBRARIES = ("libtensorflow_cc.so.2", "libtensorflow_framework.so.2")
# Of the one wheel that is pinned.
PYTHON, PLATFORM = "3.11", "manylinux_2_17_x86_64"


def library(cache: Path | None = None) -> Path:
    """Its path. Raises CalledProcessError where the wheel can't be had, or is another one."""
    cache = cache or default_layout().cache
    home = cache / "tensorflow" / hashlib.sha256(PINNED.read_bytes()).hexdigest()[:16]
    home.parent.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two sessions must not fetch it at once
        if not home.exists():
            _fetch(home)
    return home / LIBRARIES[0]


def _fetch(home: Path) -> None:
    print("fetching an older TensorFlow (250 MB, once) ...", file=sys.stderr, flush=True)
    scratch = Path(tempfile.mkdtemp(prefix=".fetch-", dir=home.parent))
    try:
        pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
        form = (f"--python-version={PYTHON}", f"--platform={PLATFORM}", "--only-binary=:all:")
        told = ("--no-deps", "--require-hashes", "--no-cache-dir", f"--requirement={PINNED}")
        subprocess.run((*pip, "download", *form, *told, f"--dest={scratch}"), check=True)
        (wheel,) = scratch.glob("*.whl")
        libraries = scratch / "libraries"
        libraries.mkdir()
        with zipfile.ZipFile(wheel) as archive:
            for name in LIBRARIES:
                target = libraries / name
                with archive.open(f"tensorflow/{name}") as read, target.open("wb") as written:
                    shutil.copyfileobj(read, written, 1 << 20)
        libraries.rename(home)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    print(library())
