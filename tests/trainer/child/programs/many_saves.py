"""Save as often as asked, beside threads that are as many as a cluster's; tell memory in KiB."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from tf_cluster_trainer.checkpoint import pieces
from tf_cluster_trainer.checkpoint.pieces import Piece
from tf_cluster_trainer.checkpoint.record import TensorSpec
from tf_cluster_trainer.loop import saver
from tf_cluster_trainer.loop.counters import TrainingCounters

OTHERS = 20


class State:
    """A small one."""

    specs: Mapping[str, TensorSpec] = {"model/w": TensorSpec((1000,), "float32")}

    def pieces(self, into: Path | None = None) -> Iterator[list[Piece]]:
        """One."""
        yield [Piece("model/w", np.zeros(1000, np.float32))]


def main(directory: Path, times: int) -> None:
    """A line after each save."""
    over = threading.Event()
    kept: list[bytearray] = []

    def idle() -> None:
        kept.append(bytearray(1000))  # it has an arena of its own from now on
        over.wait()

    for _ in range(OTHERS):
        threading.Thread(target=idle, daemon=True).start()
    written = threading.Semaphore(0)
    channel = SimpleNamespace(send=lambda _: written.release())
    pieces.SMALL_STATE_BYTES = 0  # the state is read while it is written: that takes two threads
    saves = saver.Saver(
        directory=directory,
        keep=2,
        optimizer="SGD",
        trained=(),
        state=State(),
        lockstep=False,
        check_owner=lambda: None,
        channel=cast(Any, channel),
        saved_step=None,
    )
    for step in range(1, times + 1):
        while not written.acquire(timeout=0.05):
            saves.begin(TrainingCounters(step, step, {"0": step}, step, 0.0, {}, 0))
        print(_resident(), flush=True)


def _resident() -> int:
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])


main(Path(sys.argv[1]), int(sys.argv[2]))
