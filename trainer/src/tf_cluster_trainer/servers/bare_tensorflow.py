"""TensorFlow's servers without its Python API, which a process that only serves never calls.

`import tensorflow` takes some seconds and some hundred MiB. The servers' part takes a fifth of the
time and two thirds of the memory. Why this is safe: docs/decisions/0011-bare-servers.md.
"""

from __future__ import annotations

import importlib.util
import site
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

# Not TF_CLUSTER_…: only the chart sets those, and this one is for people who need the way back.
WHOLE_VARIABLE = "TF_TRAINER_WHOLE_TENSORFLOW"
PLUGINS_VARIABLE = "TF_PLUGGABLE_DEVICE_LIBRARY_PATH"
FILE_SYSTEMS_VARIABLE = "TF_USE_MODULAR_FILESYSTEM"


class OtherLayoutError(Exception):
    """The servers are elsewhere in this TensorFlow. Only a new process can import all of it,
    because C++ registrations can't be undone.
    """


class Parts(NamedTuple):
    """The modules that a server needs."""

    server_lib: Any
    errors: Any


def load(environment: Mapping[str, str]) -> Parts:
    """Import what a server needs; all of TensorFlow if the environment asks for it.

    It also imports all of TensorFlow where that loads more than Python: file systems, kernels and
    devices of other packages. Raises OtherLayoutError if this TensorFlow has its servers elsewhere.
    """
    if environment.get(WHOLE_VARIABLE) or _loads_more(environment):
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

    tf2.enable()  # as TensorFlow's own import does
    from tensorflow.python.framework import errors
    from tensorflow.python.training import server_lib

    return Parts(server_lib, errors)


def _without_its_imports() -> ModuleType:
    """Install the package as an empty module in which its submodules are found."""
    spec, places = _found()
    package = ModuleType("tensorflow")
    package.__path__ = list(places)
    package.__spec__ = spec
    return package


def _found() -> tuple[ModuleSpec, Sequence[str]]:
    """TensorFlow's package, and where its modules are."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or spec.submodule_search_locations is None:
        raise ModuleNotFoundError("there is no TensorFlow here")
    return spec, spec.submodule_search_locations


def _loads_more(environment: Mapping[str, str]) -> bool:
    """Whether TensorFlow's own import would load libraries, from the places where it looks."""
    if environment.get(PLUGINS_VARIABLE) or environment.get(FILE_SYSTEMS_VARIABLE) in ("1", "true"):
        return True
    kernels = [Path(place, "core", "kernels") for place in _found()[1]]
    plugins = [Path(place, "tensorflow-plugins") for place in _site_packages()]
    return any(place.exists() for place in (*kernels, *plugins))


def _site_packages() -> list[str]:
    user = [site.USER_SITE] if site.ENABLE_USER_SITE and site.USER_SITE else []
    on_the_path = [place for place in sys.path if "site-packages" in place]
    schemes = [
        sysconfig.get_path(name, scheme)
        for scheme in sysconfig.get_scheme_names()
        for name in ("purelib", "platlib")
    ]
    return [*user, *on_the_path, *site.getsitepackages(), *schemes]
