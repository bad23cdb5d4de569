"""One namespace of a real cluster, through the kubectl and helm that users run."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.waiting import eventually

Object = dict[str, Any]

INDEX = "batch.kubernetes.io/job-completion-index"
COMMAND_SECONDS = 300.0  # a pod that is deleted has its grace period
WAIT_SECONDS = 660.0  # of commands that say how long they wait: the notes' --timeout is 10 minutes


class CommandError(AssertionError):
    """A command exited with another code than 0 or hung; the message holds all it printed."""


def command(
    *words: str,
    environment: Mapping[str, str] | None = None,
    stdin: str = "",
    folder: Path | None = None,
    seconds: float = COMMAND_SECONDS,
) -> str:
    """What a command printed. Raises CommandError, also when it takes longer than `seconds`."""
    said = f"{Path(words[0]).name} {' '.join(words[1:])}"
    try:
        done = subprocess.run(
            words,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
            cwd=folder,
            env=environment,
        )
    except subprocess.TimeoutExpired as error:
        printed = (error.stdout or b"") + (error.stderr or b"")  # bytes, text=True or not
        words_so_far = printed.decode(errors="replace")
        raise CommandError(f"{said}: no end after {seconds:g} s\n{words_so_far}") from None
    if done.returncode != 0:
        raise CommandError(f"{said}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def address_of(node: Object) -> str:
    """Where the NodePorts of a node answer."""
    addresses = node["status"]["addresses"]
    return str(next(one["address"] for one in addresses if one["type"] == "InternalIP"))


@dataclass(frozen=True)
class Namespace:
    """Runs kubectl and helm against one namespace."""

    name: str
    kubeconfig: str
    kubectl_path: str
    helm_path: str

    def kubectl(self, *arguments: str, stdin: str = "", seconds: float = COMMAND_SECONDS) -> str:
        """What kubectl printed. Raises CommandError."""
        return self._run(self.kubectl_path, *arguments, stdin=stdin, seconds=seconds)

    def helm(self, *arguments: str) -> str:
        """What helm printed. Raises CommandError."""
        return self._run(self.helm_path, *arguments)

    def shell(self, line: str, folder: Path) -> str:
        """What a command printed that a user would type in `folder`. Raises CommandError."""
        programs = {str(Path(path).parent) for path in (self.kubectl_path, self.helm_path)}
        path = ":".join((*programs, os.environ["PATH"]))
        environment = {**os.environ, "KUBECONFIG": self.kubeconfig, "PATH": path}
        return command(
            "bash", "-c", line, environment=environment, folder=folder, seconds=WAIT_SECONDS
        )

    def _run(
        self, program: str, *arguments: str, stdin: str = "", seconds: float = COMMAND_SECONDS
    ) -> str:
        environment = {**os.environ, "KUBECONFIG": self.kubeconfig}
        words = (program, f"--namespace={self.name}", *arguments)
        return command(*words, environment=environment, stdin=stdin, seconds=seconds)

    def objects(self, kinds: str, **labels: str) -> list[Object]:
        """Objects of some kinds ("job,deployment") that carry these labels (a_b stands for a-b)."""
        selector = ",".join(f"{key}={value}" for key, value in labels.items())
        found = json.loads(self.kubectl("get", kinds, f"--selector={selector}", "--output=json"))
        return list(found["items"])

    def apply(self, manifest: Object) -> None:
        """Create or change one object."""
        self.kubectl("apply", "--filename=-", stdin=json.dumps(manifest))


def condition(obj: Object, kind: str) -> Object | None:
    """The condition of a kind that is True, wherever it stands in the list."""
    for found in obj.get("status", {}).get("conditions", []):
        if found["type"] == kind and found["status"] == "True":
            return dict(found)
    return None


@dataclass(frozen=True)
class Release:
    """One Helm release of charts/tf-cluster and what a user sees of it."""

    namespace: Namespace
    name: str
    chart: Path

    def install(self, values: Path, *settings: str) -> str:
        """`helm install`; returns the notes."""
        return self.namespace.helm(
            "install", self.name, str(self.chart), f"--values={values}", *_set(settings)
        )

    def upgrade(self, values: Path, *settings: str) -> str:
        """`helm upgrade`; returns the notes."""
        return self.namespace.helm(
            "upgrade", self.name, str(self.chart), f"--values={values}", *_set(settings)
        )

    def uninstall(self) -> None:
        """`helm uninstall`."""
        self.namespace.helm("uninstall", self.name)

    def objects(self, kinds: str, component: str = "") -> list[Object]:
        """The release's objects of some kinds, of one component or of all."""
        labels = {"app.kubernetes.io/instance": self.name}
        if component:
            labels["app.kubernetes.io/component"] = component
        return self.namespace.objects(kinds, **labels)

    def one(self, kind: str, component: str) -> Object:
        """The release's only object of a kind and component. LookupError when not exactly one."""
        found = self.objects(kind, component)
        if len(found) != 1:
            names = [obj["metadata"]["name"] for obj in found]
            raise LookupError(f"{len(found)} {kind} of {component}: {names}")
        return found[0]

    def running(self, component: str) -> list[Object]:
        """Pods of a component that run and are not being deleted."""
        return [
            pod
            for pod in self.objects("pod", component)
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        ]

    def await_job(self, component: str, kind: str, seconds: float) -> Object:
        """Wait until the component's Job has the condition `Complete` or `Failed`.

        Raises AssertionError with the pods' logs when it ends the other way, or not in time.
        """
        other = "Failed" if kind == "Complete" else "Complete"

        def ended() -> Object | None:
            job = self.one("job", component)
            if condition(job, other):
                raise _WrongEndError(
                    f"{component} is {other}: {condition(job, other)}\n{self.story()}"
                )
            return job if condition(job, kind) else None

        try:
            return eventually(f"the {component} Job to be {kind}", ended, seconds)
        except _WrongEndError:
            raise
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story()}") from None

    def worker(self, index: int) -> Object | None:
        """The running pod of a worker's index."""
        for pod in self.running("worker"):
            if pod["metadata"]["labels"].get(INDEX) == str(index):
                return pod
        return None

    def client(self) -> Object:
        """The chief, or worker 0 of a release without one. LookupError while it does not run."""
        if self.objects("job", "chief"):
            pods = self.running("chief")
        else:
            pods = [pod for pod in [self.worker(0)] if pod]
        if not pods:
            raise LookupError("the client does not run")
        return pods[0]

    def progress(self) -> Object:
        """The status document, read in the client. LookupError when there is none."""
        client = self.client()["metadata"]["name"]
        path = f"/log/{self.name}/1/progress.json"
        try:
            text = self.namespace.kubectl("exec", client, "--", "cat", path)
        except CommandError as error:
            raise LookupError(str(error)) from None
        return dict(json.loads(text))

    def story(self) -> str:
        """What a person would look at first: pods, events and the end of each log."""
        parts = [self.namespace.kubectl("get", "pods,jobs,deployments,pvc", "--output=wide")]
        parts.append(self.namespace.kubectl("get", "events", "--sort-by=.lastTimestamp")[-3000:])
        for pod in self.objects("pod"):
            name = pod["metadata"]["name"]
            try:
                log = self.namespace.kubectl("logs", name, "--tail=25")
            except CommandError as error:
                log = str(error)
            parts.append(f"--- {name}\n{log}")
        return "\n".join(parts)


class _WrongEndError(Exception):
    """A Job ended the other way; not a "not yet"."""


def _set(settings: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"--set={setting}" for setting in settings)
