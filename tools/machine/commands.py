"""Running other programs: quietly when they work, with all they said when they don't."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from .failure import MachineError


def run(
    command: Sequence[str | Path],
    *,
    stdin: str | None = None,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
    what: str = "",
) -> str:
    """Run to the end and return stdout; raise MachineError with the output when it fails."""
    words = [str(word) for word in command]
    words[0] = which(words[0]) or words[0]
    try:
        done = subprocess.run(
            words,
            input=stdin,
            stdin=None if stdin is not None else subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=None if environment is None else dict(environment),
            cwd=directory,
            check=False,
        )
    except FileNotFoundError as missing:
        raise MachineError(f"{words[0]} is not installed ({missing.strerror})") from missing
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-4000:]
        raise MachineError(
            f"{what or words[0]} failed with exit status {done.returncode}:\n"
            f"  {' '.join(words)[:600]}\n{said}"
        )
    return done.stdout


def which(program: str) -> str | None:
    """The program's path, or None where it is not installed."""
    return shutil.which(program, path=_search_path())


def succeeds(command: Sequence[str | Path]) -> bool:
    """Whether the command exits 0; its output is dropped."""
    words = [str(word) for word in command]
    words[0] = which(words[0]) or words[0]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _search_path() -> str:
    """PATH, and the folders of the administrator's programs, which `su` and cron leave out."""
    return os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
