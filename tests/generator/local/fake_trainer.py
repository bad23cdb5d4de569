"""Stands in for `tf-trainer` where a test is about the runner: same files, ports and exit codes.

The params' flags say what happens: `steps_per_second`, and `faults`, a list of
`<task>:<start>:<what>`: at its nth start the task exits with a code (`exit=2`), the client ends
with 2 and names another task (`blames=worker-1`), or the task takes no notice of SIGTERM (`deaf`).
Each task has a child of its own, as the real one has.
"""

from __future__ import annotations

import ctypes
import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

CONFIG = Path(os.environ["TF_CLUSTER_CONFIG"])
CLUSTER = json.loads((CONFIG / "cluster.json").read_text())
TRAINING = json.loads((CONFIG / "training.json").read_text())
KIND, INDEX = os.environ["TF_CLUSTER_TASK_TYPE"], int(os.environ["TF_CLUSTER_TASK_INDEX"])
TASK = f"{KIND}-{INDEX}"
DATA = Path(TRAINING["dirs"]["data"])
RUN = Path(TRAINING["dirs"]["log"]) / TRAINING["run"]["name"] / TRAINING["run"]["id"]
TOTAL = TRAINING["train"]["steps"]
CLIENT = "chief-0" if "chief" in CLUSTER["cluster"] else "worker-0"


class Stop:
    """SIGTERM. Its handler may put into a SimpleQueue, but may not set a `threading.Event`."""

    def __init__(self) -> None:
        self._asked: SimpleQueue[bool] = SimpleQueue()

    def ask(self) -> None:
        self._asked.put(True)

    def wait(self, seconds: float) -> bool:
        """Wait for the signal; whether it has come. Ask no more once it has."""
        try:
            return self._asked.get(timeout=seconds)
        except Empty:
            return False


def status_address(kind: str, index: int) -> tuple[str, int]:
    host, _, port = CLUSTER["status"][kind][index].partition(":")
    return host, int(port)


def note_start() -> int:
    """Append what this process was told; how often the task has started so far."""
    starts = DATA / f"{TASK}.starts"
    told = {key: os.environ[key] for key in os.environ if key.startswith(("TF_", "no_proxy"))}
    with starts.open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), **told}) + "\n")
    return len(starts.read_text().splitlines())


def faults(start: int) -> set[str]:
    listed = [fault.split(":", 2) for fault in TRAINING["flags"].get("faults", [])]
    return {what for task, nth, what in listed if task == TASK and nth in (str(start), "*")}


def serve(address: tuple[str, int], document: Callable[[], dict[str, Any]]) -> None:
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(document()).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(address, Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


class Chief:
    def __init__(self) -> None:
        self.step = int((RUN / "step").read_text()) if (RUN / "step").exists() else 0
        self.document: dict[str, Any] = {}
        self.say("starting")

    def say(self, status: str, **more: Any) -> None:
        self.document = {
            "version": 1,
            "attempt": CLUSTER["attempt"],
            "status": status,
            "final": status in ("done", "failed"),
            "message": "",
            "step": self.step,
            "total": TOTAL,
            "percent": round(100 * self.step / TOTAL, 1),
            "stepsPerSecond": TRAINING["flags"].get("steps_per_second", 400),
            "etaSeconds": 1.0,
            "loss": 0.5,
            "workers": {"0": self.step},
            "metrics": {},
            "export": None,
            **more,
        }

    def serve(self) -> None:
        serve(status_address(KIND, INDEX), lambda: self.document)

    def save(self) -> None:
        RUN.mkdir(parents=True, exist_ok=True)
        (RUN / "step").write_text(str(self.step))
        (RUN / "progress.json").write_text(json.dumps(self.document))

    def train(self, stop: Stop) -> int:
        self.serve()
        speed = TRAINING["flags"].get("steps_per_second", 400)
        while self.step < TOTAL:
            if stop.wait(0.05):
                self.say("stopped", message="saved")
                self.save()
                print("saved at step", self.step, flush=True)
                return 42
            self.step = min(TOTAL, self.step + max(1, round(speed * 0.05)))
            self.say("running")
        self.say("done", metrics={"accuracy": 0.97125}, export=str(RUN / "export" / "1"))
        self.save()
        time.sleep(0.5)  # workers fetch the final state
        return 0


def client_has_ended() -> bool:
    """Asks the client; who comes when it is gone finds its end in progress.json."""
    host, port = status_address(CLIENT.removesuffix("-0"), 0)
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/progress", timeout=1) as answer:
            return bool(json.load(answer)["final"])
    except OSError:
        pass
    try:
        document = json.loads((RUN / "progress.json").read_text())
    except (OSError, ValueError):
        return False
    return bool(document["final"] and document["attempt"] == CLUSTER["attempt"])


def evaluator(stop: Stop, start: int) -> int:
    """Evaluates for `evaluates` seconds when the client is done; a second start, for 1 s."""
    own_host, _, own_port = os.environ["TF_CLUSTER_STATUS"].partition(":")
    message = "evaluating the checkpoint of step 400"
    document = {"attempt": CLUSTER["attempt"], "status": "running", "message": message, "step": 1}
    serve((own_host, int(own_port)), lambda: document)
    seconds = float(TRAINING["flags"].get("evaluates", 1)) if start == 1 else 1.0
    while not stop.wait(0.1):
        if client_has_ended():
            return 42 if stop.wait(seconds) else 0
    return 42


def worker(stop: Stop) -> int:
    while not stop.wait(0.1):
        if client_has_ended():
            return 0
    return 42


def main() -> int:
    parent = os.environ.get("TF_CLUSTER_DIE_WITH_PARENT")
    if parent:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        if os.getppid() != int(parent):
            return 1  # it ended before this process could be tied to it
    start = note_start()
    mine = faults(start)
    stop = Stop()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if "deaf" in mine else lambda *_: stop.ask())
    child = subprocess.Popen(("sleep", "600"))
    print(f"{TASK} says hello", flush=True)
    (DATA / f"{TASK}.child").write_text(str(child.pid))
    for what in mine:
        if what.startswith("exit="):
            time.sleep(0.2)
            print(f"{TASK}: the words before the end", flush=True)
            return int(what.removeprefix("exit="))
        if what.startswith("blames="):
            blamed = what.removeprefix("blames=")
            while not (DATA / f"{blamed}.child").exists():
                time.sleep(0.05)
            chief = Chief()
            chief.say("failed", message=f"{blamed} failed: no such option")
            chief.save()
            return 2
    if TASK == CLIENT:
        return Chief().train(stop)
    if KIND == "worker":
        return worker(stop)
    if KIND == "evaluator":
        return evaluator(stop, start)
    while not stop.wait(0.1):
        pass
    return 42


if __name__ == "__main__":
    sys.exit(main())
