"""What would change in a file."""

from difflib import unified_diff
from pathlib import Path

from tf_cluster.exits import RefusedError
from tf_cluster.files import read_regular


def difference(path: Path, text: str) -> str:
    """A unified diff from the file to `text`; empty when they are equal byte for byte.

    A file that is not there counts as empty. Raises RefusedError when it can't be read.
    """
    try:
        old = read_regular(path)
    except FileNotFoundError:
        old = b""
    except OSError as error:
        raise RefusedError(f"{path}: can't be read: {error.strerror}") from error
    if old == text.encode():
        return ""
    before = old.decode("utf-8", "backslashreplace").splitlines(keepends=True)
    after = text.splitlines(keepends=True)
    lines = unified_diff(before, after, str(path), f"{path} (generated)")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )
