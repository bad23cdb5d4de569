"""CPU of a chief's supervisor that 1,000 tasks poll while it trains, and requests a second.

The supervisor is the real one, as a process, with a child that only reports. The tasks are the
real poll and the real status port of each, a thread each, in a few processes: a thousand
supervisors would not fit into this machine's memory. Each has a loopback address of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tf_cluster_trainer.supervisor.peers.ask import NoAnswerError, ask

from tests.bench.measure import Measure, Sample
from tests.bench.processes import cpu_seconds
from tests.bench.rows import Bar, Figure
from tests.ports import free_port
from tests.support.waiting import eventually
from tests.tied import tied_to_us
from tests.trainer.supervisor.supervisors import Supervisors

WORKERS, PS = 800, 200
PROCESSES = 2  # of each kind
SETTLED, WINDOW = 15.0, 50.0  # seconds
CPU, ANSWERED = "CPU", "answers"
CHIEF = """
import os, sys
from tf_cluster_trainer.supervisor.main import supervise
sys.exit(supervise(os.environ, sys.argv[1:]))
"""


def _take(count: int) -> Iterator[Sample]:
    """One start of the chief each, watched for a minute once it trains."""
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder:
            yield _sample(Path(folder))


def _sample(folder: Path) -> Sample:
    port = free_port()
    world = Supervisors(folder, deadline=600.0, counts={"chief": 1, "worker": 1, "ps": 1})
    world.addresses = {
        "chief": [f"127.0.0.1:{port}"],
        "worker": [f"127.1.{index // 250}.{index % 250 + 1}:{port}" for index in range(WORKERS)],
        "ps": [f"127.2.{index // 250}.{index % 250 + 1}:{port}" for index in range(PS)],
    }
    place = world.write()
    with ExitStack() as stack:
        chief = stack.enter_context(_chief(place, folder))
        logs = [
            stack.enter_context(_tasks(place, kind, part, count // PROCESSES, folder))
            for kind, count in (("worker", WORKERS), ("ps", PS))
            for part in range(PROCESSES)
        ]
        address = world.addresses["chief"][0]
        eventually("the chief to train", lambda: _trains(chief, address), 120)
        time.sleep(SETTLED)
        began, cpu, answers = time.monotonic(), cpu_seconds(chief.pid), _answers(logs)
        time.sleep(WINDOW)
        seconds = time.monotonic() - began
        return {
            CPU: 100 * (cpu_seconds(chief.pid) - cpu) / seconds,
            ANSWERED: (_answers(logs) - answers) / seconds,
        }


@contextmanager
def _chief(place: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    environment = {
        **os.environ,
        "TMPDIR": str(folder / "temporary"),
        "TF_CLUSTER_CONFIG": str(place),
        "TF_CLUSTER_TASK_TYPE": "chief",
        "TF_CLUSTER_TASK_INDEX": "0",
        "TF_CLUSTER_JOB_UID": "cj",
        "TF_CLUSTER_POD_UID": "chief",
    }
    child = (sys.executable, str(Path(__file__).with_name("child.py")))
    command = tied_to_us(sys.executable, "-c", CHIEF, *child)
    with _started(command, folder / "chief.log", environment) as process:
        yield process


@contextmanager
def _tasks(place: Path, kind: str, part: int, count: int, folder: Path) -> Iterator[Path]:
    log = folder / f"{kind}-{part}.log"
    arguments = (str(place), kind, str(part * count), str(count))
    command = tied_to_us(sys.executable, "-m", "tests.bench.polling.tasks", *arguments)
    with _started(command, log, dict(os.environ)):
        yield log


@contextmanager
def _started(
    command: tuple[str, ...], log: Path, environment: dict[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, stdout=stream, stderr=subprocess.STDOUT, env=environment
        )
    try:
        yield process
    except BaseException:
        print(log.read_text()[-2000:], file=sys.stderr)
        raise
    finally:
        process.kill()
        process.wait()


def _trains(chief: subprocess.Popen[bytes], address: str) -> bool:
    if chief.poll() is not None:
        raise RuntimeError(f"the chief ended with {chief.returncode}")  # no "not yet"
    try:
        return bool(ask(address, "/progress").get("status") == "running")
    except NoAnswerError:
        return False


def _answers(logs: list[Path]) -> int:
    return sum(int((log.read_text().split() or ["0"])[-1]) for log in logs)


MEASURES = {
    "polling": Measure(
        _take,
        6,
        9,
        {CPU: "% of a core", ANSWERED: "/s"},
        [
            Figure(
                "the chief's supervisor with 1,000 polling tasks, in-graph-async: CPU",
                Bar("≤ 5 % of a core", 5.0),
                (CPU,),
            ),
            Figure("the same: questions of tasks that it answers", None, (ANSWERED,)),
        ],
    )
}
