"""TensorFlow's servers without its Python API, which a process that only serves never calls.

`import tensorflow` is some seconds and some hundred MiB; what the servers need of it is a sixth of
the time and half of the memory. Why this is safe: docs/decisions/0011-bare-servers.md.
"""

from __future__ import annotations

import importlib.util
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

WHOLE_VARIABLE = "TF_CLUSTER_WHOLE_TENSORFLOW"
PLUGINS_VARIABLE = "TF_PLUGGABLE_DEVICE_LIBRARY_PATH"


class OtherLayoutError(Exception):
    """Only a new process can import the whole: what C++ has registered can't be taken back."""


class Parts(NamedTuple):
    """Modules of TensorFlow."""

    server_lib: Any
    errors: Any


def load(environment: Mapping[str, str]) -> Parts:
    """What a server needs; with the whole of TensorFlow where the environment asks for it.

    Also where its import would load more than Python: kernels and devices of others. Raises
    OtherLayoutError when this TensorFlow has its servers elsewhere.
    """
    if environment.get(WHOLE_VARIABLE) or _has_plugins(environment):
        import tensorflow as _  # noqa: F401
    elif "tensorflow" not in sys.modules:
        sys.modules["tensorflow"] = _without_its_imports()
    try:
        return _parts()
    except Exception as error:
        if hasattr(sys.modules["tensorflow"], "__version__"):
            raise
        raise OtherLayoutError from error


def _parts() -> Parts:
    from tensorflow.python import tf2
    from tensorflow.python.framework import errors
    from tensorflow.python.training import server_lib

    tf2.enable()  # as TensorFlow's own import does
    return Parts(server_lib, errors)


def _without_its_imports() -> ModuleType:
    """The package as a name only; its modules are found in it."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError("there is no TensorFlow here")
    package = ModuleType("tensorflow")
    package.__path__ = list(spec.submodule_search_locations)
    package.__spec__ = spec
    return package


def _has_plugins(environment: Mapping[str, str]) -> bool:
    places = ("tensorflow-plugins", "tensorflow/core/kernels")
    return bool(environment.get(PLUGINS_VARIABLE)) or any(
        Path(sysconfig.get_path(site), place).exists()
        for site in ("purelib", "platlib")
        for place in places
    )
