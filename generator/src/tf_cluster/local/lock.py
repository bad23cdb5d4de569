"""One `tf-cluster run` of a name at a time."""

import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tf_cluster.exits import RefusedError


@contextmanager
def held(path: Path, name: str) -> Iterator[None]:
    """Hold the lock of a name. The system releases it when this process ends, however it ends.

    Raises RefusedError when another process holds it, or when the file can't be locked.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise RefusedError(f"{path}: can't be locked: {error.strerror}") from error
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise RefusedError(f"{path}: can't be locked: not a regular file")
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.read(descriptor, 32).decode("ascii", "replace").strip() or "unknown"
            raise RefusedError(
                f"{name} is being trained here already, by process {holder}: wait for it, end it "
                "(Ctrl-C saves), or give this one another name or another --runs"
            ) from None
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
        yield
    finally:
        os.close(descriptor)
