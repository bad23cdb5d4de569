"""A program that says, when it is imported, what its process is."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import threading
from pathlib import Path

import numpy as np
from tf_cluster_trainer.examples.digits import Digits

WORD = "what I am: "


def _signals() -> dict[str, str]:
    status = Path("/proc/self/status").read_text()
    lines = (line.split() for line in status.splitlines() if line.startswith("Sig"))
    # Which thread is sent one next is no matter.
    return {name: value for name, value in lines if name not in ("SigQ:", "SigPnd:")}


print(
    WORD
    + json.dumps(
        {
            "itself": {
                "path": sys.path,
                "arguments": sys.argv,
                "started as": sys.orig_argv[1:],
                "flags": list(sys.flags),
                "main": getattr(sys.modules["__main__"].__spec__, "name", None),
                "environment": dict(os.environ),
                "directory": os.getcwd(),  # noqa: PTH109  (as the process has it)
                "temporary files": tempfile.gettempdir(),
                "signals": _signals(),
                "handlers": {str(n): repr(signal.getsignal(n))[:9] for n in (2, 13, 15)},
                "leads its session": os.getsid(0) == os.getpid(),
                "standard files": [str(Path(f"/proc/self/fd/{n}").readlink()) for n in (0, 1, 2)],
                "buffered": [sys.stdout.line_buffering, sys.stderr.line_buffering],
                "threads": sorted(thread.name for thread in threading.enumerate()),
            },
            "chance": [random.random(), float(np.random.rand())],
        }
    ),
    flush=True,
)


class Telling(Digits):
    """Any program."""
