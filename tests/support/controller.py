"""A controller as a process of this machine, for the time of a test or a measure."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.kubernetes import Namespace
from tests.support.processes import end
from tests.support.waiting import eventually

READY_SECONDS = 120


@contextmanager
def controller(
    words: Sequence[str],
    environment: Mapping[str, str],
    probe: str,
    before: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Run it, ready at `probe` (host:port); what it said is printed when the block fails.

    `before` is what it needs once it has begun.
    """
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            words, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT
        )
        try:
            before()
            eventually(f"{words[0]} to be ready", lambda: _is_ready(probe, process), READY_SECONDS)
            yield
        except BaseException:
            log.seek(0)
            print(log.read()[-4000:], file=sys.stderr)
            raise
        finally:
            end(process)


def configuration(folder: Path, version: str, port: int, probe: str, **more: Any) -> Path:
    """The file of one that serves webhooks at a loopback port, with a certificate in the folder.

    It leads alone and serves no metrics; `more` is of its own kind.
    """
    file = folder / "config.json"
    file.write_text(
        json.dumps(
            {
                "apiVersion": version,
                "kind": "Configuration",
                "leaderElection": {"leaderElect": False},
                "internalCertManagement": {"enable": False},
                "webhook": {"port": port, "host": "127.0.0.1", "certDir": str(folder)},
                "metrics": {"bindAddress": "0"},
                "health": {"healthProbeBindAddress": probe},
                **more,
            }
        )
    )
    return file


def established(there: Namespace, definition: str) -> None:
    """Wait until the API server has a kind; `kubectl wait` fails where it says nothing yet."""
    conditions = ("get", definition, "--output=jsonpath={.status.conditions}")
    eventually(definition, lambda: '"Established"' in there.kubectl(*conditions), 60)


def _is_ready(probe: str, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the controller ended with {process.returncode}")  # no "not yet"
    try:
        with urllib.request.urlopen(f"http://{probe}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False
