"""The environment of an installed tool: Python's modules are compiled, as `pip install` does."""

from __future__ import annotations

import os

from tests.bench.origin import ROOT


def compiled_environment() -> dict[str, str]:
    """This process's, where Python writes what it compiled, whatever the machine asks for."""
    own = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**own, "PYTHONPYCACHEPREFIX": str(ROOT / "build" / "compiled")}
