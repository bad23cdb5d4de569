"""A controller as a process of this machine, for the time of a test or a measure."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

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
    """Run it, ready at `probe` (host:port); what it said is printed when the measure fails.

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
