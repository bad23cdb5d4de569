"""Running other programs: quietly when they work, with all they said when they don't."""

from __future__ import annotations

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


def succeeds(command: Sequence[str | Path]) -> bool:
    """Whether the command exits 0; its output is dropped."""
    words = [str(word) for word in command]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0
