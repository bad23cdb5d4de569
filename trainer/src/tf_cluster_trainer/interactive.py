"""The client of an interactive cluster: a notebook that drives ps and workers in-graph.

    from tf_cluster_trainer import interactive
    hosts = interactive.connect()   # TensorFlow's ClusterSpec, with this process as its chief

It waits until every task serves this process, and from then on tells them every two seconds that it
is there: without a client the workers end (interactive.idleSeconds). A ps serves one client at a
time, and starts afresh for the next: a client that is gone can't give its variables back.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlencode

from tf_cluster_trainer.config import DEFAULT_CONFIG_DIR, Cluster, ConfigError, read_cluster
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, ask
from tf_cluster_trainer.supervisor.rules.gate import NOT_ASKED, Health, health_of

PORT = 2222
PERIOD_SECONDS = 2.0
WAIT_SECONDS = 0.5
LOST_AFTER = 2  # rounds without an answer
AT_ONCE = 32  # questions

_SERVER = """
import json, sys, tensorflow as tf
server = tf.distribute.Server(json.loads(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
sys.stdin.read()
"""

Hosts = dict[str, list[str]]
Say = Callable[[str], None]


def connect(
    environment: Mapping[str, str] = os.environ,
    say: Say = print,
    deadline_seconds: float = 600.0,
) -> Hosts:
    """Return the ClusterSpec of the servers and this client, once all of them serve it.

    The servers are those of the cluster.json in the directory TF_CLUSTER_CONFIG (in a pod
    /etc/tf-cluster). Where there is none, one ps and two workers are started on this machine; they
    end with this process. TensorFlow has to be imported after this call.

    Raises ConfigError for a cluster without ps or workers, TimeoutError after `deadline_seconds`.
    """
    for name, value in (("GRPC_FAIL_FAST", "use_caller"), ("TF_USE_LEGACY_KERAS", "1")):
        os.environ.setdefault(name, value)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    named = environment.get("TF_CLUSTER_CONFIG")
    if named is None and not Path(DEFAULT_CONFIG_DIR, "cluster.json").exists():
        return _started_here()
    cluster = read_cluster(Path(named or DEFAULT_CONFIG_DIR))
    if not cluster.size("ps") or not cluster.size("worker"):
        found = ", ".join(cluster.cluster)
        raise ConfigError(f"a client needs ps and workers; this cluster has {found}")
    if cluster.size("chief"):
        raise ConfigError(
            "this cluster has a chief, which drives it: a client needs one of its own "
            "(interactive.enabled)"
        )
    ps, workers = cluster.spec()["ps"], cluster.spec()["worker"]
    own = environment.get("TF_CLUSTER_CLIENT_ADDRESS") or f"{own_address(ps[0])}:{PORT}"
    Client(cluster, say).begin(time.monotonic() + deadline_seconds)
    return {"chief": [own], "ps": ps, "worker": workers}


def own_address(peer: str) -> str:
    """The address of the interface by which packets go to a peer's host: it is known there."""
    host, _, port = peer.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_DGRAM)
    except socket.gaierror as error:
        raise ConfigError(f"{host}, the host of the first ps, has no address: {error}") from None
    family, kind, _, _, there = found[0]
    with socket.socket(family, kind) as one:
        one.connect(there)  # only chooses the way: no packet is sent
        own: str = one.getsockname()[0]
    return f"[{own}]" if family == socket.AF_INET6 else own


class Client:
    """Asks every task's status port again and again: by that the tasks know that it is there."""

    def __init__(self, cluster: Cluster, say: Say) -> None:
        self._say = say
        self._epoch = uuid.uuid4().hex
        self._hint = cluster.hint
        self._path = f"/healthz?{urlencode({'attempt': cluster.attempt, 'epoch': self._epoch})}"
        self._tasks = {
            f"{kind}-{index}": address
            for kind in ("ps", "worker")
            for index, address in enumerate(cluster.status[kind])
        }
        self._known = dict.fromkeys(self._tasks, NOT_ASKED)
        self._silent = dict.fromkeys(self._tasks, 0)
        self._lost: set[str] = set()

    def begin(self, until: float) -> None:
        """Wait until every task serves this client, then tell them in a thread that it is there.

        One after the other: whoever has the first ps is the client. Raises TimeoutError.
        """
        said = ""
        for task in self._tasks:
            while why := self._why_not(task):
                if time.monotonic() > until:
                    look = f". Look at: {self._hint}" if self._hint else ""
                    raise TimeoutError(f"{task} does not serve: {why}{look}")
                if (line := f"waiting for {task}: {why}") != said:
                    self._say(line)
                    said = line
                self._tell_those_that_serve()
                time.sleep(WAIT_SECONDS)
        threading.Thread(target=self._go_on, daemon=True).start()

    def _why_not(self, task: str) -> str:
        health = self._ask(task)
        self._known[task] = health
        if health.reason:
            return health.reason
        if not health.serving:
            return "it starts"
        if health.epoch != self._epoch and task.startswith("ps-"):
            return "it serves another client, or starts afresh for this one"
        return ""

    def _tell_those_that_serve(self) -> None:
        for task in [name for name, health in self._known.items() if health.serving]:
            self._ask(task)

    def _ask(self, task: str) -> Health:
        try:
            return health_of(ask(self._tasks[task], self._path))
        except NoAnswerError as silence:
            return Health(False, None, "", task, reason=str(silence))

    def _go_on(self) -> None:
        with ThreadPoolExecutor(min(AT_ONCE, len(self._tasks))) as pool:
            while True:
                time.sleep(PERIOD_SECONDS)
                try:
                    answers = pool.map(self._ask, self._tasks)
                except RuntimeError as error:
                    if "shutdown" not in str(error):
                        raise
                    return  # the interpreter ends, and takes no new work
                for health, task in zip(answers, self._tasks, strict=True):
                    self._note(task, health)

    def _note(self, task: str, health: Health) -> None:
        """Tell the user what has changed: a task that is gone, that is back, that is another."""
        known, is_ps = self._known[task], task.startswith("ps-")
        self._silent[task] = 0 if health.serving else self._silent[task] + 1
        if not health.serving:
            if self._silent[task] == LOST_AFTER:
                self._lost.add(task)
                what = "its variables are lost" if is_ps else "the others take its calls"
                self._say(f"{task} is gone ({health.reason or 'it starts again'}): {what}")
            return
        if health.server != known.server and is_ps:
            self._say(f"{task} is another server now: restart the kernel, and run from the top")
        elif health.server != known.server or task in self._lost:
            self._say(f"{task} is back")
        self._lost.discard(task)
        self._known[task] = health


def _started_here() -> Hosts:
    sizes = {"chief": 1, "ps": 1, "worker": 2}
    hosts = {kind: [f"127.0.0.1:{_free_port()}" for _ in range(n)] for kind, n in sizes.items()}
    for kind in ("ps", "worker"):
        for index in range(sizes[kind]):
            server = subprocess.Popen(  # it ends when its stdin does: with this process
                [sys.executable, "-c", _SERVER, json.dumps(hosts), kind, str(index)],
                stdin=subprocess.PIPE,
                start_new_session=True,  # a kernel that is interrupted interrupts no server
            )
            atexit.register(server.kill)
    return hosts


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
