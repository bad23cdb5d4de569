"""The helm on PATH, as a child: what is made and removed is a release like any other."""

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import yaml

from tf_cluster.cluster.snapshot import Release
from tf_cluster.exits import RefusedError
from tf_cluster.printable import cut

OLDEST = (3, 18)
_LOOK_SECONDS = 0.5
_LONGEST_END_SECONDS = 30
_LONGEST = 600
"""Characters of a complaint of Helm's that are shown."""
_WHOLE = ("deployed", "superseded")
"""Statuses of revisions that Helm had ended well."""
_VERSION = re.compile(r"v(\d+)\.(\d+)")


@dataclass(frozen=True)
class Helm:
    """The program, and the cluster and namespace that it is told.

    `to_stderr`: what `run` has it print goes there, because stdout is a document's.
    """

    path: str
    context: str
    namespace: str
    to_stderr: bool = False

    def run(self, *words: str, is_over: Callable[[], bool] = lambda: False) -> None:
        """Run it; what it prints goes where ours goes. Raises RefusedError when it fails.

        It is interrupted, and so can note how far it came, when we are, or when `is_over` says so.
        """
        process = None
        told = False
        try:
            with _signals_wait():
                # A group of its own: what ends us reaches it through us alone, and once.
                process = subprocess.Popen(
                    self._command(words),
                    env=_environment(),
                    start_new_session=True,
                    stdout=2 if self.to_stderr else None,
                )
            while process.poll() is None:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_SECONDS)
                if not told and is_over():
                    process.send_signal(signal.SIGINT)
                    told = True
        except BaseException:
            if process is not None:
                _interrupt(process)
            raise
        if process.returncode:
            raise RefusedError(f"helm {words[0]} ended with exit code {process.returncode}")

    def said(self, *words: str) -> str:
        """What it prints. Raises RefusedError with its own words when it fails.

        A Ctrl-C does not reach it, and nothing here kills it: what it has begun it ends.
        """
        child = subprocess.Popen(
            self._command(words),
            text=True,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        said, complaint = child.communicate()
        if child.returncode:
            told = "; ".join(filter(None, map(str.strip, complaint.splitlines())))
            raise RefusedError(f"helm {words[0]}: {cut(told, _LONGEST) or child.returncode}")
        return said

    def releases(self, *, everywhere: bool) -> tuple[Release, ...]:
        """The newest record of each release, here or in all namespaces. Raises RefusedError."""
        states = ("--deployed", "--failed", "--pending", "--uninstalling", "--max=0")
        where = ("--all-namespaces",) if everywhere else ()
        return tuple(map(_release, _json(self.said("list", *states, *where, "--output=json"))))

    def release(self, name: str) -> Release | None:
        """The newest record of one release; None where there is none. Raises RefusedError."""
        try:
            return _release(_json(self.said("get", "metadata", name, "--output=json")))
        except RefusedError as error:
            if "release: not found" in str(error):
                return None
            raise

    def chart_of(self, name: str) -> str:
        """The name of a release's chart; empty where there is no such release. RefusedError."""
        try:
            return str(_json(self.said("get", "metadata", name, "--output=json")).get("chart", ""))
        except RefusedError as error:
            if "release: not found" in str(error):
                return ""
            raise

    def values(self, name: str) -> dict[str, Any]:
        """The values that a release was given, without the chart's own. Raises RefusedError."""
        return dict(_json(self.said("get", "values", name, "--output=json")) or {})

    def newest_whole(self, name: str) -> int:
        """The newest revision that Helm had ended well; 0 for none. Raises RefusedError."""
        history = _json(self.said("history", name, "--output=json"))
        return max((int(one["revision"]) for one in history if one["status"] in _WHOLE), default=0)

    def manifest(self, name: str, revision: int) -> list[Mapping[str, Any]]:
        """The objects of a revision of a release, as Helm keeps them. Raises RefusedError."""
        text = self.said("get", "manifest", name, f"--revision={revision}")
        loader = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
        try:
            found = list(yaml.load_all(text, loader))
        except yaml.YAMLError as error:
            problem = getattr(error, "problem", None) or type(error).__name__
            raise RefusedError(f"helm get manifest {name}: {problem}") from None
        return [one for one in found if isinstance(one, Mapping)]

    def _command(self, words: Sequence[str]) -> list[str]:
        context = [f"--kube-context={self.context}"] if self.context else []
        return [self.path, *words, f"--namespace={self.namespace}", *context]


@contextmanager
def _signals_wait() -> Iterator[None]:
    """A signal that ends us by an exception does so after the block.

    In the middle of Popen it would leave a child that runs and that nobody knows.
    """
    came: list[int] = []
    ours = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    raising = {number: signal.getsignal(number) for number in ours}
    raising = {number: handler for number, handler in raising.items() if callable(handler)}
    if threading.current_thread() is not threading.main_thread():
        raising = {}
    for number in raising:
        signal.signal(number, lambda number, _frame: came.append(number))
    try:
        yield
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)
    for one in came:
        signal.raise_signal(one)


def _interrupt(process: "subprocess.Popen[bytes]") -> None:
    """Have it end, so that the release is not left as if it still ran."""
    with suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    until = time.monotonic() + _LONGEST_END_SECONDS
    while process.poll() is None and time.monotonic() < until:
        # A second Ctrl-C or SIGTERM does not make it leave the release half made.
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt, SystemExit):
            process.wait(_LOOK_SECONDS)
    if process.poll() is None:
        process.kill()
        process.wait()


def _environment() -> dict[str, str]:
    """Nothing but the context says which cluster is meant: it is the one that was looked at."""
    return {name: value for name, value in os.environ.items() if not _says_where(name)}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise RefusedError(f"helm did not print JSON: {error}") from None


def _release(one: Mapping[str, Any]) -> Release:
    return Release(
        namespace=str(one.get("namespace", "")),
        name=str(one.get("name", "")),
        status=str(one.get("status", "")),
        revision=int(one.get("revision", 0)),
    )


def _says_where(variable: str) -> bool:
    return variable.startswith("HELM_KUBE") or variable == "HELM_NAMESPACE"


def find_helm(context: str, namespace: str, *, to_stderr: bool = False) -> Helm:
    """The helm on PATH, for a context of the kubeconfig (empty in a pod).

    Raises RefusedError where there is none, or it is too old.
    """
    needed = f"Helm {OLDEST[0]}.{OLDEST[1]} or later"
    path = shutil.which("helm")
    if path is None:
        raise RefusedError(f"no helm on PATH: install {needed}")
    asked = (path, "version", "--short")
    try:
        said = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=30)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RefusedError(f"{path} does not run: {error}") from None
    found = _VERSION.search(said.stdout)
    if said.returncode or not found:
        raise RefusedError(f"{path} does not say its version: {said.stdout}{said.stderr}".strip())
    if (int(found[1]), int(found[2])) < OLDEST:
        raise RefusedError(f"{path} is Helm {found[0]}: it has to be {needed}")
    return Helm(path, context, namespace, to_stderr)
