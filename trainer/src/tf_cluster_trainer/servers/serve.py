"""The whole work of a ps, or of a worker that a chief drives: a TensorFlow server."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tf_cluster_trainer.config import Cluster, ConfigError, Task
from tf_cluster_trainer.log import log
from tf_cluster_trainer.protocol import Channel, Serving
from tf_cluster_trainer.servers import bare_tensorflow, ps_files, unused_gpu

_CANT_LISTEN = "Could not start gRPC server"


@contextmanager
def naming_a_taken_port(task: str, address: str, unknown_error: type[Any]) -> Iterator[None]:
    """Inside this context a server starts; raises ConfigError if it can't listen at its address.

    `unknown_error` is TensorFlow's UnknownError.
    """
    try:
        yield
    except unknown_error as error:
        if _CANT_LISTEN not in error.message:
            raise
        port = address.rpartition(":")[2]
        raise ConfigError(
            f"{task} can't listen on port {port} ({address}): another process uses it"
        ) from None


def serve(task: Task, cluster: Cluster, channel: Channel, environment: Mapping[str, str]) -> int:
    """Serve until the process ends; never returns.

    It does not call `server.join()`, which blocks Python's signal handling. Raises ConfigError if
    the port is taken.
    """
    address = cluster.cluster[task.type][task.index]
    try:
        tensorflow = bare_tensorflow.load(environment)
    except bare_tensorflow.OtherLayoutError:
        log("this TensorFlow has its servers elsewhere: starting again, with all of it imported")
        channel.outlive_exec()
        whole = {**environment, bare_tensorflow.WHOLE_VARIABLE: "1"}
        os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], whole)
    unused_gpu.warn(environment)
    if task.type == "ps":
        ps_files.serve()
    with naming_a_taken_port(task.name, address, tensorflow.errors.UnknownError):
        server = tensorflow.server_lib.Server(
            cluster.spec(), job_name=task.type, task_index=task.index, protocol="grpc", start=True
        )
    channel.send(Serving())
    log(f"serving at {address}; the log of the task that drives this one tells of the training")
    threading.Event().wait()
    del server  # not reached: the server lives as long as this process
    return 0
