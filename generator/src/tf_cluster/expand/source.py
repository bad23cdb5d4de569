"""Where a program's code comes from, in the form that tasks read."""

from collections.abc import Mapping
from typing import Any

from tf_cluster.pointer import Pointer, value_at

SOURCE: Pointer = ("program", "source")
PAIRS = (("url", "sha256"), ("git", "commit"))
"""An address, and what pins its content."""
LOGIN = ("secretName",)
"""What an address may need besides."""


def has_source(effective: Mapping[str, Any]) -> bool:
    """Whether tasks fetch the code before the program starts."""
    return bool(source_document(effective))


def source_document(effective: Mapping[str, Any]) -> dict[str, Any]:
    """program.source as training.json has it; empty where there is none."""
    source = value_at(effective, SOURCE) or {}
    for form in (("files",), *PAIRS):
        if source.get(form[0]):
            login = LOGIN if form in PAIRS and source.get(LOGIN[0]) else ()
            return {key: source[key] for key in (*form, *login)}
    return {}
