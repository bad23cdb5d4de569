"""This machine's pip settings, for the pip that runs while the image is built.

They reach it as a configuration file that is mounted for the build only: nothing of them
stays in the image, and no file of this repository names an index.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterable, Mapping
from pathlib import Path

_SECTIONS = ("global", "install", "wheel")
# Where to install is the Dockerfile's to say; and a pip of another version may not know a flag.
_NOT_OURS = {"target", "prefix", "user", "root", "require-virtualenv", "config-file", "cache-dir"}


def configuration_files(environment: Mapping[str, str]) -> list[Path]:
    """Where pip looks on this machine, the weakest first."""
    home = Path(environment.get("HOME") or Path.home())
    config_home = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    places = [Path("/etc/pip.conf"), home / ".pip/pip.conf", config_home / "pip/pip.conf"]
    if own := environment.get("PIP_CONFIG_FILE"):
        places.append(Path(own))
    return places


def merged(texts: Iterable[str], environment: Mapping[str, str]) -> str:
    """One configuration file from many; a PIP_... variable beats them, as pip itself has it."""
    parser = configparser.RawConfigParser()
    for text in texts:
        parser.read_string(text)
    found: dict[str, dict[str, str]] = {}
    for section in _SECTIONS:
        if parser.has_section(section):
            found[section] = dict(parser.items(section))
    for name, value in environment.items():
        if name.startswith("PIP_") and value:
            option = name.removeprefix("PIP_").lower().replace("_", "-")
            found.setdefault("global", {})[option] = value
            for section in _SECTIONS[1:]:
                found.get(section, {}).pop(option, None)
    lines: list[str] = []
    for section, options in found.items():
        lines.append(f"[{section}]")
        kept = ((name, value) for name, value in options.items() if name not in _NOT_OURS)
        lines += [f"{name} = {_one_value(value)}" for name, value in sorted(kept)]
    return "\n".join(lines) + "\n"


def of_this_machine(environment: Mapping[str, str]) -> str:
    """The merged settings, from the files there are."""
    files = [file for file in configuration_files(environment) if file.is_file()]
    return merged([file.read_text() for file in files], environment)


def _one_value(value: str) -> str:
    """A value of several lines has to be indented to stay one value."""
    return value.strip().replace("\n", "\n    ")
