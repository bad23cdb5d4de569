"""Which versions of a model its directory and its policy ask for.

sources/storage_path/file_system_storage_path_source.cc: names that are no numbers are no versions.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tests.serving.stand_in.status import invalid

_NUMBER = re.compile(r"\s*[+-]?[0-9]+\s*")


def aspired(model: Any) -> dict[int, str]:
    """Directories by version for a ModelConfig. Raises StatusError where its path is not there."""
    base = Path(model.base_path)
    if not base.exists():
        raise invalid(
            f"Could not find base path {base} for servable {model.name} with error "
            f"NOT_FOUND: {base} not found"
        )
    there = {
        int(path.name): str(path)
        for path in sorted(base.iterdir())
        if _NUMBER.fullmatch(path.name) and -(2**63) <= int(path.name) < 2**63
    }
    policy = model.model_version_policy
    kind = policy.WhichOneof("policy_choice")
    if kind == "all":
        found = there
    elif kind == "specific":
        wanted = set(policy.specific.versions)
        found = {version: path for version, path in there.items() if version in wanted}
        for version in sorted(wanted - set(found)):
            log(
                f"Version {version} of servable {model.name}, which was requested to be served as "
                "a 'specific' version in the servable's version policy, was not found in the file "
                "system"
            )
    else:
        newest = sorted(there, reverse=True)[: max(policy.latest.num_versions, 1)]
        found = {version: there[version] for version in newest}
    if not found and not (kind == "specific" and not policy.specific.versions):
        log(
            f"No versions of servable {model.name} found under base path {base}. Did you forget to "
            "name your leaf directory as a number (eg. '/1/')?"
        )
    return found


def log(words: str) -> None:
    """A line of the server's log."""
    print(words, file=sys.stderr, flush=True)
