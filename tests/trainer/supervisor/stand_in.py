"""A child without TensorFlow: it speaks the protocol and does what the test's directory says.

    python stand_in.py <directory>

It leaves <directory>/<task>.<n>.started (its pid) for its n-th start, and does what it finds:
<task>.do holds one of `exit <code> <words>`, `save`, `finish`, `deaf`.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from tf_cluster_trainer import config as configuration
from tf_cluster_trainer import protocol

directory = Path(sys.argv[1])
configured = configuration.load(os.environ)
task = configured.task
channel = protocol.Channel.of_child(os.environ)
stopping = threading.Event()


def note_start() -> None:
    number = 1
    while (directory / f"{task.name}.{number}.started").exists():
        number += 1
    note = directory / f"{task.name}.{number}.started"
    note.with_suffix(".tmp").write_text(f"{os.getpid()} {os.environ['TF_CLUSTER_EPOCH']}")
    note.with_suffix(".tmp").rename(note)


def order() -> list[str]:
    path = directory / f"{task.name}.do"
    try:
        words = path.read_text().split(" ", 2)
        path.unlink()
    except FileNotFoundError:
        return []
    return words


def obey(words: list[str]) -> None:
    if words[:1] == ["exit"]:
        if len(words) > 2:
            channel.send(protocol.Failure(words[2]))
        os._exit(int(words[1]))
    if words[:1] == ["deaf"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)


def save(step: int) -> None:
    checkpoint = configured.settings.run_dir / "checkpoints" / f"ckpt-{step}"
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / "meta.json").write_text(json.dumps({"version": 1, "step": step}))
    channel.send(protocol.Saved(step))


def train() -> int:
    channel.send(protocol.Ready())
    waited = threading.Thread(target=lambda: next(channel.receive(), None), daemon=True)
    waited.start()
    while waited.is_alive():
        waited.join(0.02)
        obey(order())
        if stopping.is_set():
            return 42
    step, total = 0, configured.settings.steps
    channel.send(protocol.Placement({"weights": "/job:ps/replica:0/task:0"}))
    channel.send(protocol.Phase("running", "training"))
    while step < total:
        words = order()
        obey(words)
        if words == ["save"]:
            save(step)
        if words == ["finish"]:
            break
        if stopping.is_set():
            channel.send(protocol.Phase("saving", "saving"))
            save(step)
            return 42
        step += 1
        channel.send(protocol.Progress(step, 50.0, 1.0 / step, {"0": step}))
        time.sleep(0.02)
    save(total)
    channel.send(protocol.Result(total, {"accuracy": 0.97}, "/export/1"))
    return 0


def serve() -> int:
    while (directory / f"{task.name}.hold").exists():
        time.sleep(0.02)
    channel.send(protocol.Serving())
    while not stopping.wait(0.02):
        obey(order())
    return 42


def stop(number: int, frame: FrameType | None) -> None:
    stopping.set()


signal.signal(signal.SIGTERM, stop)
note_start()
sys.exit(train() if task.type == "chief" else serve())
