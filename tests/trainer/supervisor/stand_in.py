"""A child without TensorFlow: it speaks the protocol and does what the test's directory says.

    python stand_in.py <directory>

It leaves <directory>/<task>.<n>.started (its pid) for its n-th start, <task>.<n>.gone for its n-th
Go, and a temporary file. It does what it finds: <task>.do holds one of `exit <code> <words>`,
`save <step>`, `finish`, `stall` (no step from now on), `deaf`. A worker that trains beside worker 0
says nothing but Ready. Any of them takes `print <stream> <file>`, which copies the file to stdout
or stderr, and `leave <seconds>`: a process that gets away from it and holds both. An evaluator says
of `evaluate <step>` that it did, and ends at Finish: <task>.<n>.finish holds the step. It imports
nothing of ours: it starts in no time, and it holds the supervisor to the protocol as it is written.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

directory = Path(sys.argv[1])
task = f"{os.environ['TF_CLUSTER_TASK_TYPE']}-{os.environ['TF_CLUSTER_TASK_INDEX']}"
config = Path(os.environ["TF_CLUSTER_CONFIG"])
training = json.loads((config / "training.json").read_text())
hosts = json.loads((config / "cluster.json").read_text())["cluster"]
if "interactive" in training["program"]:
    client = "nobody"
else:
    client = "chief-0" if "chief" in hosts else "worker-0"
control, answers = (int(number) for number in os.environ["TF_CLUSTER_CONTROL"].split(","))
stopping: list[int] = []
Path(os.environ["TMPDIR"], "left").touch()


def tell(kind: str, **fields: object) -> None:
    os.write(answers, (json.dumps({"kind": kind, **fields}) + "\n").encode())


def note(what: str, words: str = "") -> None:
    number = 1
    while (directory / f"{task}.{number}.{what}").exists():
        number += 1
    path = directory / f"{task}.{number}.{what}"
    path.with_suffix(".tmp").write_text(words or str(os.getpid()))
    path.with_suffix(".tmp").rename(path)


def order(known: tuple[str, ...] = ("exit", "deaf")) -> list[str]:
    """What to do next, if it is of a known kind; what any child may do is done here."""
    words: list[str] = []
    with contextlib.suppress(FileNotFoundError):
        path = directory / f"{task}.do"
        words = path.read_text().split(" ", 2)
        if words[0] not in (*known, "print", "leave"):
            return []
        path.unlink()
    if words[:1] == ["exit"]:
        if len(words) > 2:
            tell("Failure", message=words[2])
        os._exit(int(words[1]))
    if words == ["deaf"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if words[:1] == ["print"]:
        os.write({"stdout": 1, "stderr": 2}[words[1]], Path(words[2]).read_bytes())
    if words[:1] == ["leave"]:
        subprocess.Popen(["sleep", words[1]], start_new_session=True)
    return words


def save(step: int) -> None:
    log, run = training["dirs"]["log"], training["run"]
    checkpoint = Path(log) / run["name"] / run["id"] / "checkpoints" / f"ckpt-{step}"
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / "meta.json").write_text(json.dumps({"version": 1, "step": step}))
    tell("Saved", step=step, seconds=0.25)


def train() -> int:
    while (directory / f"{task}.hold").exists():
        time.sleep(0.02)
    tell("Ready")
    while not select.select([control], [], [], 0.02)[0]:
        order()
        if stopping:
            return 42
    assert json.loads(os.read(control, 1000)) == {"kind": "Go"}
    note("gone")
    return lead() if task == client else follow()


def follow() -> int:
    while not stopping:
        if order(("exit", "deaf", "finish")) == ["finish"]:
            return 0
        time.sleep(0.02)
    return 42


def lead() -> int:
    step, total = 0, training["train"]["steps"]
    stalled = False
    tell("Placement", devices={"weights": "/job:ps/replica:0/task:0"})
    tell("Phase", status="running", message="training")
    while step < total:
        words = order(("exit", "deaf", "save", "finish", "stall"))
        stalled = stalled or words == ["stall"]
        if words[:1] == ["save"]:
            save(int(words[1]))
        if words == ["finish"]:
            break
        if stopping:
            tell("Phase", status="saving", message="saving")
            save(step)
            return 42
        if stalled:
            time.sleep(0.02)
            continue
        step += 1
        tell(
            "Progress",
            step=step,
            examples=8 * step,
            steps_per_second=50.0,
            loss=1.0 / step,
            workers={"0": step},
        )
        time.sleep(0.02)
    if (directory / f"{task}.reading").exists():  # a large state
        tell("StepsMade")
        while (directory / f"{task}.reading").exists():
            time.sleep(0.02)
    tell("Finishing")
    save(total)
    while (directory / f"{task}.busy").exists():  # evaluating, say
        time.sleep(0.02)
    tell("Result", step=total, metrics={"accuracy": 0.97}, export="/export/1")
    return 0


def evaluate() -> int:
    tell("Ready")
    heard = b""
    while not heard.endswith(b"\n"):
        words = order(("exit", "deaf", "evaluate"))
        if words[:1] == ["evaluate"]:
            step = int(words[1])
            tell("Phase", status="running", message=f"evaluating the checkpoint of step {step}")
            tell("Evaluated", step=step, metrics={"accuracy": 0.5}, export=None)
        if stopping:
            return 42
        if select.select([control], [], [], 0.02)[0]:
            heard += os.read(control, 1000)
    note("finish", str(json.loads(heard)["step"]))
    while (directory / f"{task}.hold").exists() and not stopping:
        order()
        time.sleep(0.02)
    return 42 if stopping else 0


def serve() -> int:
    while (directory / f"{task}.hold").exists():
        time.sleep(0.02)
    tell("Serving")
    while not stopping:
        order()
        time.sleep(0.02)
    return 42


signal.signal(signal.SIGTERM, lambda number, frame: stopping.append(number))
note("started")
trains = task == client or (task.startswith("worker") and client == "worker-0")
if task == "evaluator-0":
    sys.exit(evaluate())
sys.exit(train() if trains else serve())
