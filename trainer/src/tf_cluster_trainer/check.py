"""`tf-trainer-check`: what `helm test` runs. Is the attempt as its configuration says?

It reads the two files that every task reads, asks the chief (or worker 0), and connects to every
port of every task by its name. A training that is done has no tasks any more: then the run
directory says so, and only the chief's Service has to have its name. It prints what is wrong, each
with the object to look at, and exits 1. No TensorFlow.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import Config, ConfigError, load
from tf_cluster_trainer.run_directory.layout import PROGRESS
from tf_cluster_trainer.supervisor.main import checked
from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, ask
from tf_cluster_trainer.supervisor.status.document import DONE, FAILED

# As long as a name server remembers a name that was asked for too early (30 s), and then some.
SECONDS = 90.0
PAUSE_SECONDS = 2.0
CONNECT_SECONDS = 5.0
AT_ONCE = 32
MOST_LINES = 20
# The attempt that `helm test` means: its ConfigMap may be another one's only by mistake.
ATTEMPT_VARIABLE = "TF_CLUSTER_ATTEMPT"


def main() -> None:
    """Check this environment's attempt, and exit with 0, or 1 for what is wrong."""
    sys.exit(check(os.environ, print))


def check(
    environment: Mapping[str, str],
    say: Callable[[str], None],
    seconds: float = SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Look until all is well, `seconds` at most; return the exit code."""
    try:
        # Worker 0 is in every cluster: its place is as good as any to read the files from.
        place = {"TF_CLUSTER_TASK_TYPE": "worker", "TF_CLUSTER_TASK_INDEX": "0"}
        own = {"TF_CLUSTER_JOB_UID": "check", "TF_CLUSTER_POD_UID": "check"}
        config = checked(load({**environment, **place, **own}))
    except ConfigError as error:
        say(f"the ConfigMap is wrong: {error}")
        return exit_codes.FAILED
    meant = environment.get(ATTEMPT_VARIABLE, config.cluster.attempt)
    if config.cluster.attempt != meant:
        say(f"the ConfigMap is of attempt {config.cluster.attempt}, and this release's is {meant}")
        return exit_codes.FAILED
    say(f"the ConfigMap is good: {_tasks(config)}, attempt {meant}")
    until = time.monotonic() + seconds
    while True:
        last = _last_status(config)
        done = last.get("status") == DONE
        wrong = list(_wrong_after_the_end(config) if done else _wrong(config, last))
        if not wrong:
            say("the training is done" if done else "every task answers by its name, on its ports")
            return exit_codes.DONE
        if time.monotonic() >= until or last.get("final") is True:
            break
        sleep(PAUSE_SECONDS)
    for line in wrong[:MOST_LINES]:
        say(line)
    if len(wrong) > MOST_LINES:
        say(f"and {len(wrong) - MOST_LINES} more")
    say(f"look at the pods: {config.cluster.hint}")
    return exit_codes.FAILED


def _tasks(config: Config) -> str:
    return ", ".join(f"{len(hosts)} {kind}" for kind, hosts in config.cluster.cluster.items())


def _last_status(config: Config) -> Mapping[str, Any]:
    """What this attempt's chief wrote into the run directory; empty where that can't be read."""
    settings = config.settings
    try:
        text = Path(settings.run_dir, PROGRESS).read_text(encoding="utf-8")
        document = json.loads(text)
    except (OSError, ValueError):
        return {}
    mine = isinstance(document, dict) and document.get("attempt") == config.cluster.attempt
    return document if mine else {}


def _client(config: Config) -> tuple[str, str]:
    """Name and status address of the task that drives the run; worker 0 where a client does."""
    kind = "worker" if config.settings.interactive else config.chief_type
    return f"{kind}-0", config.cluster.status[kind][0]


def _wrong_after_the_end(config: Config) -> Iterator[str]:
    name, address = _client(config)
    host = address.rpartition(":")[0]
    try:
        socket.getaddrinfo(host, None)
    except OSError:
        yield f"{name}: the Service {host} has no name in DNS: it is gone, or DNS is not there"


def _wrong(config: Config, last: Mapping[str, Any]) -> Iterator[str]:
    if last.get("status") == FAILED and last.get("final"):
        yield f"the training failed: {last.get('message')}"
        return
    name, address = _client(config)
    try:
        status = ask(address, "/progress")
        if status.get("attempt") != config.cluster.attempt:
            other = status.get("attempt")
            yield f"{name}: the Service at {address} leads to attempt {other}: look at its selector"
    except NoAnswerError as error:
        said = f"; it last said {last['status']}: {last.get('message')}" if last else ""
        yield f"{name}: no status from the Service at {address}: {error}{said}"
    with ThreadPoolExecutor(AT_ONCE) as pool:
        lines = pool.map(lambda pair: _unreachable(*pair), _ports(config))
        yield from dict.fromkeys(filter(None, lines))  # two ports of a name: one line


def _ports(config: Config) -> Iterator[tuple[str, str]]:
    """Each task with each address that has to answer. A script may use its port, or not."""
    script = config.settings.script
    for kind, hosts in config.cluster.cluster.items():
        ours = script is None or (kind == "ps" and not script.on_ps)
        for index, (host, status) in enumerate(
            zip(hosts, config.cluster.status[kind], strict=True)
        ):
            # The host is the pod's own name; a status address may be a Service's.
            own_status = f"{host.rpartition(':')[0]}:{status.rpartition(':')[2]}"
            for address in dict.fromkeys((*((host,) if ours else ()), own_status)):
                yield f"{kind}-{index}", address


def _unreachable(name: str, address: str) -> str:
    """What is wrong with a port; empty when it takes a connection."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host, int(port)), CONNECT_SECONDS):
            return ""
    except socket.gaierror:
        why = "there is no such pod, or its Service does not select it"
        return f"{name}: {host} has no name in DNS: {why}"
    except TimeoutError:
        return f"{name}: nothing answers at {address}: the pod is gone, or a policy keeps us out"
    except OSError as error:
        return f"{name}: {address}: {error.strerror or error}"


if __name__ == "__main__":
    main()
