"""tf-cluster: from a short parameter file to a training cluster.

    from tf_cluster import generate, load, plan, validate

docs/api.md describes them. They are imported when they are asked for.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tf_cluster.api import FindingsError, Loaded, generate, load, plan, validate

__all__ = ["FindingsError", "Loaded", "__version__", "generate", "load", "plan", "validate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module("tf_cluster.api"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
