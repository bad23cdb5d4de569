"""A process that has imported what a child needs, and forks itself for each one asked for.

    python fork_server.py <file descriptor of its socket> <whole | bare>

`forked.py` starts it and asks. It starts no thread and makes no device: a fork has neither. The
threads of OpenBLAS, which numpy and scipy have started, are made anew after a fork by OpenBLAS.
"""

from __future__ import annotations

import contextlib
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

import threadpoolctl  # type: ignore[import-untyped]
from tf_cluster_trainer import config, protocol
from tf_cluster_trainer.child import collection, tasks
from tf_cluster_trainer.servers import bare_tensorflow
from tf_cluster_trainer.supervisor.process.die_with_parent import signal_on_parent_death

MODULE = "tf_cluster_trainer.child"
LONGEST = 2**17  # bytes of a request
STATUS = struct.Struct("i")  # an exit code as Popen has it: a signal's is negative


def import_whole() -> None:
    """What the children that train or evaluate import."""
    for name in ("chief", "evaluator", "failures", "worker"):
        import_module(f"{MODULE}.{name}")
    for row in config.COMBINATIONS:
        import_module(f"tf_cluster_trainer.strategies.{row.module}")


def import_bare() -> None:
    """What the children that only serve import."""
    bare_tensorflow.load(os.environ)
    import_module("tf_cluster_trainer.servers.serve")


IMPORTS = {"whole": import_whole, "bare": import_bare}


class Server:
    """Forks what is asked for, and says of each how it ended."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._ready = selectors.PollSelector()
        self._ready.register(requests, selectors.EVENT_READ)

    def serve(self) -> None:
        """Until the other end closes. All that is left of the children ends with this process."""
        while True:
            for key, _ in self._ready.select():
                if key.data:
                    self._bury(key.fd, *key.data)
                elif not self._fork():
                    return

    def _fork(self) -> bool:
        """A child for the next request; False when there is none to come."""
        text, ends, flags, _ = socket.recv_fds(self._requests, LONGEST, 4)
        if not text:
            return False
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            raise ValueError(f"a request of more than {LONGEST} bytes")
        request, us = json.loads(text), os.getpid()
        output, to_child, from_child, status = ends
        child = os.fork()
        if not child:
            _become_a_child(us, request, output, (to_child, from_child))
        for end in (output, to_child, from_child):
            os.close(end)
        handle = os.pidfd_open(child)
        self._ready.register(handle, selectors.EVENT_READ, (child, status))
        socket.send_fds(self._requests, [STATUS.pack(child)], [handle])
        return True

    def _bury(self, handle: int, child: int, status: int) -> None:
        """Say how a child ended."""
        self._ready.unregister(handle)
        _, ended = os.waitpid(child, 0)
        os.close(handle)
        with contextlib.suppress(BrokenPipeError):  # nobody asks
            os.write(status, STATUS.pack(os.waitstatus_to_exitcode(ended)))
        os.close(status)


def _become_a_child(
    parent: int, request: Mapping[str, Any], output: int, control: Sequence[int]
) -> NoReturn:
    """Be what `python -m tf_cluster_trainer.child` is, once it has imported what we have."""
    try:
        os.setsid()
        if not signal_on_parent_death(signal.SIGKILL, parent):
            os._exit(1)
        for ours, its in ((output, 1), (output, 2)):
            os.dup2(ours, its)
        low, high = sorted(control)
        for first, after in ((3, low), (low + 1, high), (high + 1, 2**20)):
            os.closerange(first, after)
        for end in control:
            os.set_inheritable(end, True)
        os.chdir(request["directory"])
        os.environ.clear()
        os.environ.update(request["environment"])
        os.environ[protocol.CONTROL_VARIABLE] = ",".join(map(str, control))
        tempfile.tempdir = None  # of our TMPDIR
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed()  # Python's own is seeded anew by the fork
        sys.path.insert(0, request["directory"])
        del sys.argv[1:]
        sys.orig_argv[1:] = ["-m", MODULE]
        runpy.run_module(MODULE, run_name="__main__", alter_sys=True)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(1)


def _check_that_nothing_has_begun() -> None:
    """Neither threads nor TensorFlow's devices, which it makes at the first operation."""
    pools = threadpoolctl.threadpool_info()
    blas = sum(pool["num_threads"] - 1 for pool in pools if pool["internal_api"] == "openblas")
    running = len(list(Path("/proc/self/task").iterdir()))
    if running > 1 + blas:
        raise RuntimeError(f"{running} threads run after the imports, only {blas} are OpenBLAS's")
    context = sys.modules.get("tensorflow.python.eager.context")
    if context and context._context and context._context._initialized:
        raise RuntimeError("an import has made TensorFlow's devices: no fork can use them")


if __name__ == "__main__":
    del sys.path[0]  # this file's folder
    # As a child does before it imports TensorFlow, which reads some of it then.
    tasks._prepare(os.environ)
    with collection.put_off():
        IMPORTS[sys.argv[2]]()
    _check_that_nothing_has_begun()
    Server(socket.socket(fileno=int(sys.argv[1]))).serve()
