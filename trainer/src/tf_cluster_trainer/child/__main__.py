"""The child's process: it listens first, then imports TensorFlow and does its task's work."""

from __future__ import annotations

import os
import sys

# `python -m` puts the caller's directory first on the import path. A queue.py there would hide
# Python's own, and a program found there would be missing in a pod. PYTHONSAFEPATH came with 3.11.
if sys.path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109  (pathlib is not imported yet)
    del sys.path[0]

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.child.stop import Stop

if __name__ == "__main__":
    stop = Stop.listening()  # before the long import: a SIGTERM in it must end us too

    from tf_cluster_trainer.child import tasks

    code = exit_codes.FAILED
    try:
        code = tasks.run(os.environ, stop)
    finally:
        # TensorFlow's own threads and destructors may wait for peers that are gone.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
