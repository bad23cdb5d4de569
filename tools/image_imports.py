"""What Python can import in the trainer's images, made of their locks.

    python -m tools.image_imports           write the list that the generator carries
    python -m tools.image_imports --check   write nothing; exit 1 when it would change

The names come from the packages installed here. A package that is not (a GPU's, another Python's)
keeps the names that the list has, or gets its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path

from tools import ROOT

LIST = ROOT / "generator" / "src" / "tf_cluster" / "program" / "image_imports.txt"
LOCKS = tuple(ROOT / "requirements" / name for name in ("trainer.txt", "gpu.txt"))
# Packages whose import has another name, and which no machine of ours has installed.
_NAMES = {re.compile(r"nvidia-.*"): ("nvidia",)}


def locked() -> set[str]:
    """The packages of the images' locks."""
    pattern = re.compile(r"^([A-Za-z0-9._-]+)==", re.MULTILINE)
    return {_normal(name) for lock in LOCKS for name in pattern.findall(lock.read_text())}


def installed() -> Mapping[str, tuple[str, ...]]:
    """The top-level names of each package that is installed here."""
    found: dict[str, set[str]] = {
        _normal(one.metadata["Name"]): set() for one in metadata.distributions()
    }
    for name, packages in metadata.packages_distributions().items():
        for package in packages:
            if name.isidentifier():
                found.setdefault(_normal(package), set()).add(name)
    return {package: tuple(sorted(names)) for package, names in found.items() if names}


def listed() -> dict[str, tuple[str, ...]]:
    """The list as it is: a line for each package, with the names that it brings."""
    if not LIST.exists():
        return {}
    lines = (line.split() for line in LIST.read_text().splitlines() if not line.startswith("#"))
    return {package: tuple(names) for package, *names in lines}


def text() -> str:
    """The list as it should be."""
    here, before = installed(), listed()
    head = "# Packages of the trainer's images, and their imports: python -m tools.image_imports\n"
    return head + "".join(
        " ".join((package, *(here.get(package) or before.get(package) or _guessed(package)))) + "\n"
        for package in sorted(locked())
    )


def _guessed(package: str) -> Iterator[str]:
    for pattern, names in _NAMES.items():
        if pattern.fullmatch(package):
            yield from names
            return
    yield package.replace("-", "_")


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> int:
    """Write the list, or say that it would change."""
    wanted = text()
    if "--check" in sys.argv[1:]:
        return 0 if LIST.read_text() == wanted else 1
    LIST.write_text(wanted)
    print(f"wrote {Path(LIST).relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
