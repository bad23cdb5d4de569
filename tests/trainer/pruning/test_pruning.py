"""Runs on a log volume: what is seen of them, what stays, what goes, and what is never followed."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer.pruning import look as looking
from tf_cluster_trainer.pruning.look import Look, look
from tf_cluster_trainer.pruning.remove import Result, Wanted, remove

from tests.support.waiting import eventually

DAY = 86400
NOW = int(time.time())


def made(log: Path, training: str, run: str, days: float = 30, **more: Any) -> Path:
    """A run that ended some days ago; `checkpoints` are steps, `exports` versions."""
    path = log / training / run
    path.mkdir(parents=True)
    (path / "owner.json").write_text('{"counter": 7}')
    (path / "progress.json").write_text('{"status": "done"}')
    for step in more.get("checkpoints", (4,)):
        folder = path / "checkpoints" / f"ckpt-{step}"
        folder.mkdir(parents=True)
        (folder / "variables.data-00000-of-00001").write_bytes(b"x" * 10000)
    for version in more.get("exports", ()):
        (path / "export" / str(version)).mkdir(parents=True)
    aged(path, days)
    return path


def aged(path: Path, days: float) -> None:
    """Let all of a directory be so old."""
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            touched(Path(folder, name), days)
    touched(path, days)


def touched(path: Path, days: float) -> None:
    when = NOW - days * DAY
    os.utime(path, (when, when), follow_symlinks=False)


def quick(log: Path, training: str | None = None) -> Look:
    return look(log, training, sleep=lambda _: None)


def keeps(seen: Look) -> dict[str, str]:
    return {f"{one.training}/{one.run}": one.keeps for one in seen.runs}


def told(seen: Look, *names: str) -> list[Wanted]:
    """The runs of these names as `list` said them."""
    return [
        Wanted(one.training, one.run, one.written)
        for one in seen.runs
        if f"{one.training}/{one.run}" in names
    ]


def outcomes(results: tuple[Result, ...]) -> dict[str, tuple[str, str]]:
    return {f"{one.training}/{one.run}": (one.outcome, one.why) for one in results}


def removed(log: Path, seen: Look, *names: str) -> dict[str, tuple[str, str]]:
    return outcomes(remove(log, quick(log), told(seen, *names), lambda _: None))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    made(tmp_path, "digits", "1", 30, checkpoints=(4, 12), exports=(1, 2))
    made(tmp_path, "digits", "2", 20)
    made(tmp_path, "digits", "3", 10, checkpoints=())
    made(tmp_path, "other", "1", 90)
    return tmp_path


def test_a_look_says_what_each_run_is(log: Path) -> None:
    seen = quick(log)
    first = seen.runs[0]
    assert (first.training, first.run, first.checkpoint) == ("digits", "1", 12)
    assert first.exports == ("export/1", "export/2")
    assert 20000 < first.size < 100_000
    assert first.written == (NOW - 30 * DAY) * 10**9
    assert keeps(seen) == {
        "digits/1": "",
        "digits/2": "it has the newest checkpoint of its training",
        "digits/3": "it is the newest run of its training",
        "other/1": "it is the newest run of its training",
    }
    assert keeps(quick(log, "other")) == {"other/1": "it is the newest run of its training"}


def test_what_is_wanted_goes_and_nothing_else(log: Path) -> None:
    seen = quick(log)
    others = {path for path in log.rglob("*") if "digits/1" not in str(path)}
    assert removed(log, seen, "digits/1") == {"digits/1": ("removed", "")}
    assert set(log.rglob("*")) == others
    assert quick(log).size == seen.size - seen.runs[0].size


@pytest.mark.parametrize("name", ["digits/2", "digits/3", "other/1"])
def test_what_a_training_needs_stays_whoever_wants_it_gone(name: str, log: Path) -> None:
    before = set(log.rglob("*"))
    ((found, (outcome, _)),) = removed(log, quick(log), name).items()
    assert (found, outcome) == (name, "stays")
    assert set(log.rglob("*")) == before


def test_the_newest_stays_though_all_older_ones_have_gone_meanwhile(log: Path) -> None:
    """Two prunes at once: each has told the run that the other one leaves."""
    seen = quick(log)
    shutil.rmtree(log / "digits" / "3")
    shutil.rmtree(log / "digits" / "2")
    found = removed(log, seen, "digits/1", "digits/2")
    assert found["digits/1"] == ("stays", "it is the newest run of its training")
    assert (log / "digits" / "1").is_dir()


def test_a_run_that_is_written_to_now_stays(log: Path) -> None:
    run = log / "digits" / "1"

    def write(_: float) -> None:
        (run / "owner.json").write_text('{"counter": 8}')
        aged(run, 30)  # the volume's clock may be behind

    assert keeps(look(log, sleep=write))["digits/1"] == "it is being written to"


@pytest.mark.parametrize("days", [0.0, -3.0])
def test_a_run_of_this_moment_stays_also_where_the_volumes_clock_is_ahead(
    days: float, log: Path
) -> None:
    touched(log / "digits" / "1" / "checkpoints" / "ckpt-4", days)
    made(log, "digits", "4", -9)
    assert keeps(quick(log))["digits/1"].startswith("it was written to ")


def test_a_run_that_was_written_to_since_the_plan_stays(log: Path) -> None:
    seen = quick(log)
    touched(log / "digits" / "1" / "progress.json", 25)
    why = "it was written to since it was looked at"
    assert removed(log, seen, "digits/1") == {"digits/1": ("stays", why)}
    assert (log / "digits" / "1" / "owner.json").exists()


def test_a_run_that_is_written_to_while_it_is_renamed_comes_back(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen, rename = quick(log), Path.rename
    before = sorted((log / "digits" / "1").rglob("*"))

    def late(path: Path, target: Path) -> Path:
        if path.name == "1":
            (path / "owner.json").write_text('{"counter": 8}')
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", late)
    assert removed(log, seen, "digits/1") == {"digits/1": ("stays", "it is being written to")}
    assert sorted((log / "digits" / "1").rglob("*")) == before
    assert quick(log).left == ()


def test_what_is_no_run_is_told_and_left(
    log: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    made(outside, "digits", "9")
    (log / "digits" / "link").symlink_to(outside / "digits" / "9")
    (log / "linked").symlink_to(outside / "digits")
    (log / "digits" / "a file").write_text("")
    (log / "digits" / "notes").mkdir()
    made(log, "digits", "with\nnewline")
    made(log, "digits", ".hidden")
    os.mkfifo(log / "digits" / "notes" / "owner.json")
    (log / "digits" / "notes" / "progress.json").symlink_to("/etc/passwd")
    (log / "data").mkdir()
    (log / os.fsdecode(b"\xff\xfe")).mkdir()
    seen = quick(log)

    assert set(keeps(seen)) == {"digits/1", "digits/2", "digits/3", "other/1"}
    assert dict(seen.others) == {
        "data": "it holds no run",
        "linked": "it is a link",
        "digits/.hidden": "no training gives such a name",
        "digits/a file": "it is no directory",
        "digits/link": "it is a link",
        "digits/notes": "it has no owner.json and no progress.json",
        "digits/with\nnewline": "no training gives such a name",
        "\udcff\udcfe": "no training gives such a name",
    }
    line = looking.as_line(dict(looking.listing(seen, log)))
    assert line.isascii()
    assert "\n" not in line
    names = ["link", "with\nnewline", "notes", "../other/1", "."]
    wanted = [Wanted("digits", name, 0) for name in names] + [Wanted("linked", "9", 0)]
    results = remove(log, quick(log), wanted, lambda _: None)
    assert {one.outcome for one in results} == {"gone"}
    assert (outside / "digits" / "9" / "owner.json").exists()
    assert (log / "digits" / "with\nnewline").is_dir()


def test_links_in_a_run_go_and_what_they_lead_to_stays(
    log: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "precious").write_text("data")
    run = log / "digits" / "1"
    (run / "data").symlink_to(outside)
    (run / "other").symlink_to(log / "other")
    (run / "checkpoints" / "self").symlink_to(run)
    aged(run, 30)
    size = quick(log).runs[0].size
    assert size < 100_000
    assert removed(log, quick(log), "digits/1")["digits/1"] == ("removed", "")
    assert (outside / "precious").read_text() == "data"
    assert (log / "other" / "1" / "owner.json").exists()


def test_a_sign_that_is_no_file_is_not_waited_for(log: Path) -> None:
    run = log / "digits" / "1"
    (run / "owner.json").unlink()
    os.mkfifo(run / "owner.json")
    aged(run, 30)
    assert removed(log, quick(log), "digits/1")["digits/1"] == ("removed", "")


def test_a_file_of_several_names_counts_once(log: Path) -> None:
    run = log / "digits" / "1"
    before = quick(log).runs[0].size
    (run / "held").mkdir()
    for number in range(5):
        os.link(
            run / "checkpoints" / "ckpt-12" / "variables.data-00000-of-00001",
            run / "held" / str(number),
        )
    assert quick(log).runs[0].size - before < 10000


def test_what_was_interrupted_is_seen_and_goes_with_the_next(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = quick(log)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(shutil, "rmtree", interrupted)
        with pytest.raises(KeyboardInterrupt):
            removed(log, seen, "digits/1")
    again = quick(log)
    (left,) = again.left
    assert left.name.startswith(".pruned-1-")
    assert again.size == seen.size
    assert "digits/1" not in keeps(again)
    assert removed(log, again) == {f"digits/{left.name}": ("removed", "")}
    assert quick(log).left == ()


@contextmanager
def nobody() -> Iterator[Path]:
    """A log volume of a user who is not root, and be that user."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    is_root = os.geteuid() == 0
    if is_root:
        os.chown(folder, 1000, 1000)
        os.seteuid(1000)
    try:
        yield folder
    finally:
        if is_root:
            os.seteuid(0)
        for path in folder.rglob("*"):
            if path.is_dir():
                path.chmod(0o700)
        shutil.rmtree(folder)


def test_what_cant_be_read_or_removed_stays_and_is_told() -> None:
    with nobody() as log:
        made(log, "digits", "1", 30)
        made(log, "digits", "2", 20)
        made(log, "digits", "3", 10)
        made(log, "locked", "1", 30).parent.chmod(0)
        seen = quick(log)
        assert dict(seen.others) == {"locked": "Permission denied"}
        (log / "digits" / "1" / "checkpoints").chmod(0)
        (log / "digits" / "2" / "checkpoints" / "ckpt-4").chmod(0o500)
        found = removed(log, seen, "digits/1", "digits/2")
        assert found["digits/1"] == ("stays", "it can't be read: Permission denied")
        assert found["digits/2"][0] == "failed"
        assert "Permission denied" in found["digits/2"][1]
        (left,) = quick(log).left
        (log / "digits" / left.name / "checkpoints" / "ckpt-4").chmod(0o700)
        assert removed(log, quick(log)) == {f"digits/{left.name}": ("removed", "")}
        (log / "digits").chmod(0o500)
        (log / "digits" / "1" / "checkpoints").chmod(0o700)
        seen = quick(log)
        outcome, why = removed(log, seen, "digits/1")["digits/1"]
        assert (outcome, why) == ("failed", "it can't be renamed: Permission denied")
        assert keeps(quick(log))["digits/1"] == ""


@pytest.mark.parametrize("seed", range(20))
def test_the_newest_run_and_checkpoint_survive_every_draw(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    newest: dict[str, tuple[float, str]] = {}
    checkpointed: dict[str, tuple[float, str]] = {}
    for training in ("a", "b.c"):
        for number in range(draw.randint(1, 5)):
            days, name = draw.uniform(1, 99), f"r{number}"
            steps = tuple(draw.sample(range(50), draw.randint(0, 3)))
            made(tmp_path, training, name, days, checkpoints=steps)
            newest[training] = min(newest.get(training, (999, "")), (days, name))
            if steps:
                latest = min(checkpointed.get(training, (999, "")), (days, name))
                checkpointed[training] = latest
    stay = {
        f"{where}/{name}" for some in (newest, checkpointed) for where, (_, name) in some.items()
    }
    seen = quick(tmp_path)
    found = removed(tmp_path, seen, *keeps(seen))
    assert {name for name, (outcome, _) in found.items() if outcome == "stays"} == stay
    assert set(keeps(quick(tmp_path))) == stay


TRAINER = "from tf_cluster_trainer.supervisor.main import main; main()"


def ran(*words: str, code: int = 0) -> list[dict[str, Any]]:
    done = subprocess.run(
        (sys.executable, "-c", TRAINER, "prune-runs", *words),
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_the_command_lists_and_removes(log: Path) -> None:
    (listed,) = ran("--log", str(log), "list")
    assert listed["format"] == "tf-cluster.io/volume/v1"
    assert listed["bytes"] == sum(one["bytes"] for one in listed["runs"]) > 0
    assert listed["freeBytes"] > 0
    (wanted,) = [one for one in listed["runs"] if not one["keeps"]]
    *said, document = ran("--log", str(log), "remove", "--run", json.dumps(wanted))
    assert said == [{"said": "digits/1 removed"}]
    assert document["bytesBefore"] == listed["bytes"]
    assert document["bytesAfter"] == listed["bytes"] - wanted["bytes"]
    assert document["runs"] == [{"training": "digits", "run": "1", "outcome": "removed", "why": ""}]
    (again,) = ran("--log", str(log), "--training", "digits", "list")
    assert [one["run"] for one in again["runs"]] == ["2", "3"]


def test_the_command_refuses_what_it_cant_mean(log: Path) -> None:
    assert ran("--log", str(log), "--training", "../digits", "list", code=2) == []
    assert ran("--log", str(log / "nowhere"), "list", code=2) == []
    assert ran("--log", str(log), "remove", "--run", "{}", code=2) == []


def test_a_sigterm_ends_the_command_between_its_looks(log: Path) -> None:
    """In a container it is the first process, which no signal ends that it does not ask for."""
    child = subprocess.Popen(
        (sys.executable, "-c", TRAINER, "prune-runs", "--log", str(log), "list"),
        stdout=subprocess.PIPE,
    )
    status = Path(f"/proc/{child.pid}/status")

    def asks() -> bool:
        caught = next(line for line in status.read_text().splitlines() if "SigCgt" in line)
        return bool(int(caught.split()[1], 16) & 1 << (signal.SIGTERM - 1))

    try:
        eventually("its handler", asks, 20)
        child.terminate()
        said, _ = child.communicate(timeout=60)
    finally:
        child.kill()
    assert (child.returncode, said) == (42, b"")


def test_runs_that_somebody_else_removes_meanwhile_are_gone(log: Path) -> None:
    made(log, "digits", "0", 40)
    seen, found = quick(log), quick(log)
    shutil.rmtree(log / "digits" / "0")
    results = remove(log, found, told(seen, "digits/0", "digits/1"), lambda _: None)
    assert outcomes(results) == {
        "digits/0": ("gone", "somebody else removed it"),
        "digits/1": ("removed", ""),
    }
