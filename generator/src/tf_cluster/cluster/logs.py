"""Logs of pods: one, the ends of many at once, all of a training merged by time or followed."""

import heapq
import queue
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

import httpx2

from tf_cluster.cluster.connection import (
    CONNECT_SECONDS,
    SECONDS,
    AbsentError,
    ClusterError,
    Connection,
    ForbiddenError,
    explained,
)
from tf_cluster.cluster.snapshot import Pod

AT_ONCE = 16
"""Most logs that are read at the same time, where their ends are."""
LOOK_SECONDS = 2.0
"""How often it is looked for pods that have come while logs are followed."""
_STAMP = re.compile(
    rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d) ?(.*)", re.DOTALL
)


@dataclass(frozen=True)
class Part:
    """Which part of a log is meant. `tail` counts lines; `since` are seconds before now."""

    tail: int | None = None
    since: int | None = None
    previous: bool = False

    def parameters(self) -> dict[str, Any]:
        """As the API server takes them."""
        given: dict[str, Any] = {"tailLines": self.tail, "sinceSeconds": self.since}
        if self.previous:
            given["previous"] = "true"
        return {name: value for name, value in given.items() if value is not None}


WHOLE = Part()


@dataclass(frozen=True, order=True)
class Line:
    """A line of a log: its time, its task, and its words.

    `time` is RFC 3339 in UTC with nine digits of a second, whatever the node writes: it sorts.
    """

    time: str
    task: str
    words: str


def read(connection: Connection, namespace: str, pod: Pod, part: Part) -> Iterator[Line]:
    """The lines of a pod's task. Raises ClusterError, also while it is read."""
    return _stream(connection, namespace, pod, part.parameters())


def ends(
    connection: Connection, pods: Mapping[str, list[Pod]], tail: int
) -> dict[tuple[str, str], tuple[str, ...] | ClusterError]:
    """The last lines of many logs, or why one can't be read, by namespace and pod's name.

    `pods` are given by namespace. A line begins with its time.
    """
    asked = [(namespace, pod) for namespace, some in pods.items() for pod in some]
    part = Part(tail=tail)

    def end(one: tuple[str, Pod]) -> tuple[str, ...] | ClusterError:
        try:
            return tuple(f"{line.time} {line.words}" for line in read(connection, *one, part))
        except ClusterError as error:
            return error

    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(end, asked)
        return {(where, pod.name): lines for (where, pod), lines in zip(asked, found, strict=True)}


def merged(
    connection: Connection,
    namespace: str,
    pods: Iterable[Pod],
    part: Part,
    unread: Callable[[str], None],
) -> Iterator[Line]:
    """The lines of all pods by time; a pod that has no log has no lines.

    Holds a line of each pod, not the logs. A log that can't be read is told to `unread`, and the
    others are read. Raises ForbiddenError.
    """
    logs = (_readable(read(connection, namespace, pod, part), unread) for pod in pods)
    return heapq.merge(*logs)


def followed(
    connection: Connection,
    namespace: str,
    look: Callable[[], tuple[list[Pod], bool]],
    part: Part,
) -> Iterator[Line]:
    """Lines as they come, those of pods that come later too, until the training has ended.

    `look` gives the pods there are now and whether the training goes on. Then the logs of tasks
    that end with it are read to their end; a ps may run on for long. A log that breaks off while
    its pod runs is taken up again after its last line. `part` is that of the pods there are at
    first. Raises ForbiddenError.
    """
    lines: queue.SimpleQueue[Line | ForbiddenError | _End] = queue.SimpleQueue()
    begun: set[str] = set()
    open_logs: dict[str, Pod] = {}
    asked = part
    while True:
        pods, goes_on = look()
        for pod in pods:
            if pod.name not in begun and has_log(pod):
                begun.add(pod.name)
                open_logs[pod.name] = pod
                arguments = (connection, namespace, pod, asked, lines)
                threading.Thread(target=_follow, args=arguments, daemon=True).start()
        asked = WHOLE
        until = time.monotonic() + LOOK_SECONDS
        is_quiet = True
        while (wait := until - time.monotonic()) > 0:
            if not open_logs and not goes_on:
                return
            try:
                got = lines.get(timeout=wait)
            except queue.Empty:
                break
            if isinstance(got, ForbiddenError):
                raise got
            if isinstance(got, _End):
                open_logs.pop(got.pod, None)
            else:
                is_quiet = False
                yield got
        if not goes_on and is_quiet and all(pod.role == "ps" for pod in open_logs.values()):
            return


def has_log(pod: Pod) -> bool:
    """Whether its task has begun, so that there is a log."""
    main = pod.main
    return main is not None and bool(main.is_running or main.ended or main.before)


@dataclass(frozen=True)
class _End:
    """A pod's log is at its end."""

    pod: str


def _follow(
    connection: Connection,
    namespace: str,
    pod: Pod,
    part: Part,
    lines: "queue.SimpleQueue[Line | ForbiddenError | _End]",
) -> None:
    """Put a pod's lines into the queue until it has ended, then its end."""
    parameters = part.parameters()
    last = ""
    try:
        while True:
            seen = last
            following = {**parameters, "follow": "true"}
            try:
                for line in _stream(connection, namespace, pod, following, endless=True):
                    if line.time > seen:  # what was there before the log broke off is known
                        last = line.time
                        lines.put(line)
            except ForbiddenError as error:
                lines.put(error)
                return
            except ClusterError:
                pass  # it broke off, or there is no log yet
            if not _is_alive(connection, namespace, pod):
                return
            if last:
                parameters = {"sinceTime": f"{last[:19]}Z"}
            time.sleep(LOOK_SECONDS)
    finally:
        lines.put(_End(pod.name))


def _is_alive(connection: Connection, namespace: str, pod: Pod) -> bool:
    """Whether it is the same pod and has not ended; True where nobody can say.

    Asked without lightkube: msgspec crashes where threads see a type for the first time at once.
    """
    path = f"/api/v1/namespaces/{namespace}/pods/{pod.name}"
    try:
        found = connection.ask(
            f"get pod {pod.name} in namespace {namespace}",
            lambda: connection.http.get(path).raise_for_status(),
        ).json()
    except AbsentError:
        return False
    except ClusterError:
        return True
    is_same = bool(found["metadata"].get("uid") == pod.uid)
    return is_same and found.get("status", {}).get("phase") not in ("Succeeded", "Failed")


def _readable(lines: Iterator[Line], unread: Callable[[str], None]) -> Iterator[Line]:
    """The lines of a log as far as it can be read; none where the pod is gone or has not begun."""
    try:
        yield from lines
    except ForbiddenError:
        raise
    except (AbsentError, _NoLogError):
        return
    except ClusterError as error:
        unread(str(error))


class _NoLogError(ClusterError):
    """The pod is there and has no log: its container has not started."""


def _stream(
    connection: Connection,
    namespace: str,
    pod: Pod,
    parameters: Mapping[str, Any],
    *,
    endless: bool = False,
) -> Iterator[Line]:
    what = f"get pods/log of {pod.name} in namespace {namespace}"
    asked = {"container": pod.role, "timestamps": "true", **parameters}
    timeout = httpx2.Timeout(SECONDS, connect=CONNECT_SECONDS, read=None if endless else SECONDS)
    path = f"/api/v1/namespaces/{namespace}/pods/{pod.name}/log"
    with (
        explained(connection.server, what),
        connection.http.stream("GET", path, params=asked, timeout=timeout) as answer,
    ):
        if answer.status_code == 400:
            answer.read()
            raise _NoLogError(f"{what}: {answer.text.strip()}")
        if answer.is_error:
            answer.read()
            answer.raise_for_status()
        stamp = ""
        for raw in _split(answer.iter_bytes()):
            stamp, words = _stamped(raw, stamp)
            yield Line(stamp, pod.task, words)


def _split(parts: Iterable[bytes]) -> Iterator[bytes]:
    r"""Lines as Kubernetes ends them, with `\n` alone: programs write `\r` and others within."""
    left = b""
    for part in parts:
        *lines, left = (left + part).split(b"\n")
        yield from lines
    if left:
        yield left


def _stamped(raw: bytes, before: str) -> tuple[str, str]:
    """The time of a line, in UTC, and its words; the time `before` where it has none."""
    found = _STAMP.fullmatch(raw)
    if found is None:
        return before, raw.decode(errors="replace")
    second, fraction, zone = found[1].decode(), (found[2] or b"").decode(), found[3].decode()
    if zone != "Z":
        local = datetime.fromisoformat(second + zone)
        second = local.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{second}.{fraction:0<9}Z", found[4].decode(errors="replace")
