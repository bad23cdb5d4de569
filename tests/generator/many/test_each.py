"""Work in processes: in order, equal to the work of one process, and nothing left of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tf_cluster.checks import CODES
from tf_cluster.exits import RefusedError
from tf_cluster.findings.formats import Format, report
from tf_cluster.many.across import with_rules_across
from tf_cluster.many.each import each
from tf_cluster.many.outcome import outcome

from tests.bench import processes
from tests.support.waiting import HANG_SECONDS, eventually

GOOD = "name: n{0}\nimage: r/i:1\nprogram: {{module: 'p.m:C'}}\n"
BAD = (
    "wrokers: 3\n",
    "workers: 0\n",
    "flags: {a: yes}\n",
    "x: [\n",
    "train: {checkpoint: {steps: 5000}}\n",
    "extraValues: {worker: {replicas: x}}\n",
    "extraValues: {tensorboard: {enabled: true, service: {type: NodePort, nodePort: 30006}}}\n",
)


def _files(folder: Path, number: int) -> list[str]:
    files = []
    for index in range(number):
        file = folder / f"{index}.params.yaml"
        more = BAD[index % len(BAD)] if index % 3 == 0 else ""
        file.write_text(GOOD.format(index // 2 if index % 5 == 0 else index) + more)
        files.append(str(file))
    return files


def test_processes_and_one_process_say_the_same_byte_for_byte(tmp_path: Path) -> None:
    files = [*_files(tmp_path, 60), str(tmp_path / "nowhere.params.yaml")]

    one, several = (with_rules_across(each(outcome, files, number)) for number in (1, 3))

    assert one == several
    for form in Format:
        texts = [
            report([f for o in outcomes for f in o.findings], form, (), CODES)
            for outcomes in (one, several)
        ]
        assert texts[0] == texts[1]
        assert "TFC602" in texts[0]
        assert "TFC603" in texts[0]


def test_what_is_raised_is_raised_at_its_turn_and_no_process_is_left() -> None:
    def work(number: int) -> int:
        if number == 7:
            raise RefusedError("seven")
        return os.getpid()

    results = each(work, range(20), 4)
    seen = {next(results) for _ in range(7)}

    assert len(seen) == 4
    with pytest.raises(RefusedError, match="seven"):
        next(results)
    for pid in seen:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_process_that_is_killed_is_told() -> None:
    def work(number: int) -> int:
        if number == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    with pytest.raises(RefusedError, match="was ended"):
        list(each(work, range(20), 3))


def test_what_is_in_buffers_is_written_once(tmp_path: Path) -> None:
    code = (
        "import sys, tf_cluster.many.each as e\n"
        "sys.stdout.write('once')\n"
        "print(sum(e.each(len, ['a'] * 60, 3)))\n"
    )
    ran = subprocess.run(
        (sys.executable, "-c", code), capture_output=True, text=True, check=True, cwd=tmp_path
    )

    assert ran.stdout == "once60\n"


def test_ctrl_c_ends_every_process_without_a_traceback(tmp_path: Path) -> None:
    _files(tmp_path, 1500)
    forced = tmp_path / "sitecustomize.py"
    forced.write_text("import os\nos.sched_getaffinity = lambda pid: {0, 1, 2}\n")
    command = (sys.executable, "-m", "tf_cluster", "validate", str(tmp_path))
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        start_new_session=True,
    )
    try:
        eventually("three processes", lambda: len(processes.tree(process.pid)) >= 4, 60, every=0.01)
        pids = processes.tree(process.pid)
        eventually("them at work", lambda: all(map(processes.cpu_seconds, pids)), 60, every=0.01)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=HANG_SECONDS)
    finally:
        process.kill()

    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert [pid for pid in pids if Path(f"/proc/{pid}").exists()] == []
