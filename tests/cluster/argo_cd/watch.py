"""What kubectl says of objects while it watches them, each line with its time."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.cluster.kubernetes import Namespace
from tests.tied import tied_to_us


@dataclass
class Watch:
    """`lines` are those that differ from the one before, by a clock that only goes on."""

    lines: list[tuple[float, str]] = field(default_factory=list)

    def hear(self, line: str) -> None:
        if not self.lines or self.lines[-1][1] != line:
            self.lines.append((time.monotonic(), line))


@contextmanager
def watching(namespace: Namespace, line: str, *what: str) -> Iterator[Watch]:
    """Fails if nobody looked at the end: an API server ends a watch after half an hour or more."""
    watch = Watch()
    process = subprocess.Popen(
        tied_to_us(
            *(namespace.kubectl_path, f"--kubeconfig={namespace.kubeconfig}"),
            *("get", *what, f"--namespace={namespace.name}"),
            *("--watch", "--output=jsonpath=" + line + '{"\\n"}'),
        ),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    lines = process.stdout

    def listen() -> None:
        for said in lines:
            watch.hear(said.rstrip("\n"))

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    try:
        yield watch
        assert process.poll() is None, "nobody looked"
    finally:
        process.terminate()
        process.wait(30)
        listener.join(30)
