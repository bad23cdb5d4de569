"""The log files, one per task; the previous run's are kept as `.1`."""

from datetime import datetime, timezone
from pathlib import Path

from tf_cluster.exits import RefusedError

_MARK = "=== "


def log_header(task: str) -> str:
    """The line that precedes the output of one start."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
    return f"{_MARK}{task} started {now}\n"


def set_aside(folder: Path) -> None:
    """Rename the previous run's logs to <task>.log.1; older ones are dropped.

    Raises RefusedError for a log that can't be renamed.
    """
    for log in sorted(folder.glob("*.log")):
        kept = log.with_name(log.name + ".1")
        try:
            log.replace(kept)
        except OSError as error:
            raise RefusedError(f"{log}: can't be kept as {kept.name}: {error.strerror}") from error


def tail(log: Path, lines: int = 20) -> list[str]:
    """The last lines of the last start; empty when there is no log."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 64_000))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    written = text.splitlines()
    starts = [i for i, line in enumerate(written) if line.startswith(_MARK)]
    return [line for line in written[starts[-1] + 1 if starts else 0 :] if line.strip()][-lines:]
