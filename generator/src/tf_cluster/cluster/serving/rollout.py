"""Waits until a server's pods are there and ready, and says why where they will not be."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tf_cluster.cluster.connection import AbsentError, ClusterError, Connection
from tf_cluster.cluster.labels import SERVING
from tf_cluster.cluster.serving.asking import ServerPod, Tell, server_pods
from tf_cluster.cluster.serving.server_log import FAILED_LOAD
from tf_cluster.cluster.serving.servers import Server
from tf_cluster.exits import RefusedError
from tf_cluster.printable import cut

LOOK_SECONDS = 2.0
TELL_SECONDS = 20.0
GIVEN_UP = 2
"""Restarts of a container after which its server does not come by itself."""
TAIL_LINES = 20
_LONGEST = 600


@dataclass(frozen=True)
class Rollout:
    """How far a Deployment is: pods wanted, of its newest spec, and ready; `seen` is its newest."""

    wanted: int
    updated: int
    ready: int
    there: int
    is_seen: bool

    @property
    def is_through(self) -> bool:
        """Whether all its pods are of the newest spec, and ready."""
        enough = min(self.updated, self.ready) >= self.wanted
        return self.is_seen and enough and self.there == self.updated


def rollout_of(deployment: Mapping[str, Any]) -> Rollout:
    """How far a Deployment is, by its own status."""
    spec, status = deployment.get("spec") or {}, deployment.get("status") or {}
    observed = int(status.get("observedGeneration") or 0)
    replicas = spec.get("replicas")
    return Rollout(
        wanted=1 if replicas is None else int(replicas),
        updated=int(status.get("updatedReplicas") or 0),
        ready=int(status.get("readyReplicas") or 0),
        there=int(status.get("replicas") or 0),
        is_seen=observed >= int(deployment["metadata"].get("generation") or 0),
    )


def await_ready(connection: Connection, server: Server, until: float, tell: Tell) -> None:
    """Wait until all pods of a server are ready: it has loaded its models then.

    `until` is a time of the monotonic clock. Raises RefusedError, with the server's own words where
    it ends again and again, and ClusterError.
    """
    told: set[str] = set()
    said_at = time.monotonic()
    while True:
        found = _deployment(connection, server)
        pods = [pod for pod in server_pods(connection, server) if not pod.is_going]
        if found is not None and found.is_through:
            return
        bad = next((one for one in pods if not one.is_ready and one.restarts >= GIVEN_UP), None)
        if bad is not None:
            raise RefusedError(
                f"{bad.name} ends again and again: {_last_words(connection, server, bad.name)}"
            )
        why = why_not_ready(found, pods)
        now = time.monotonic()
        if now > until:
            slow = next((one.name for one in pods if not one.is_ready), "")
            failed = _failed_loads(connection, server, slow) if slow else ""
            said = f": {failed}" if failed else ""
            raise RefusedError(f"release {server.release} is installed, but not ready: {why}{said}")
        # An image that is not found is refused and backed off from in turn.
        if why not in told and now - said_at > TELL_SECONDS:
            tell(f"release {server.release}: {why}")
            told.add(why)
            said_at = now
        time.sleep(LOOK_SECONDS)


def why_not_ready(rollout: Rollout | None, pods: list[ServerPod]) -> str:
    """What is waited for, in words."""
    if rollout is None:
        return "its Deployment is not made"
    for pod in pods:
        if not pod.is_ready and pod.waits:
            return f"{pod.name} waits: {pod.waits}"
    if len(pods) < rollout.wanted:
        return f"{len(pods)} of {rollout.wanted} pods have been made"
    slow = next((pod.name for pod in pods if not pod.is_ready), "")
    return f"{slow} loads its models" if slow else "old pods have not ended"


def _deployment(connection: Connection, server: Server) -> Rollout | None:
    path = f"/apis/apps/v1/namespaces/{server.namespace}/deployments/{server.name}"
    what = f"get deployment {server.name} in namespace {server.namespace}"
    with suppress(AbsentError):
        answer = connection.ask(what, lambda: connection.http.get(path).raise_for_status())
        return rollout_of(answer.json())
    return None


def _last_words(connection: Connection, server: Server, pod: str) -> str:
    """The end of the log of the container before: why it ended."""
    with suppress(ClusterError):
        lines = _log(connection, server, pod, previous="true")
        failed = [line for line in lines if "ailed to" in line or "did not become" in line]
        return cut("; ".join(failed[-2:] or lines[-2:]), _LONGEST)
    return f"kubectl -n {server.namespace} logs {pod} --previous says why"


def _failed_loads(connection: Connection, server: Server, pod: str) -> str:
    """What a server that runs said last of a version that it tries to load again and again."""
    with suppress(ClusterError):
        lines = _log(connection, server, pod)
        failed = [line for line in lines if FAILED_LOAD.search(line)]
        return cut(failed[-1], _LONGEST) if failed else ""
    return ""


def _log(connection: Connection, server: Server, pod: str, **asked: str) -> list[str]:
    """The last lines of a server's log that say something. Raises ClusterError."""
    path = f"/api/v1/namespaces/{server.namespace}/pods/{pod}/log"
    question = {"tailLines": str(TAIL_LINES), "container": SERVING, **asked}
    answer = connection.ask(
        f"get the log of pod {pod} in namespace {server.namespace}",
        lambda: connection.http.get(path, params=question).raise_for_status(),
    )
    return [line for line in answer.text.splitlines() if line.strip()]
