"""How the cluster suite prepares its cluster, with a stand-in for `python -m tools.machine`."""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from tests.cluster import turns
from tests.suites import __main__ as suites
from tests.suites import cluster, suite
from tests.suites.commands import leave
from tests.suites.suite import Outcome
from tests.support.processes import alive
from tests.support.waiting import eventually

# It notes what it is asked. `up` ends when the image is being built; `image --load none` ends
# when the cluster is up. Where `fails` names a command, that one fails, and with `hangs` the image
# is never ready.
MACHINE = """
import os, sys, time
from pathlib import Path
here, command = Path(sys.argv[1]), " ".join(sys.argv[2:])
with (here / "asked").open("a") as asked:
    print(command, file=asked)
def wait(name):
    while not (here / name).exists():
        time.sleep(0.05)
print(f"the words of {command}", file=sys.stderr)
if command == "up":
    wait("building")
if (here / "fails").exists() and (here / "fails").read_text() == command:
    sys.exit(7)
if command == "up":
    (here / "up").touch()
    print("export KUBECONFIG=/the/config")
elif command == "image --load none":
    (here / "building").write_text(str(os.getpid()))
    wait("never" if (here / "hangs").exists() else "up")
elif command == "status":
    sys.exit(3)
elif command.startswith("tools argocd") and (here / "slow").exists():
    wait("first")
elif command == "tools kubectl":
    print("/bin/false")
"""
TOOLS = " ".join(("tools argocd", *turns.programs(full=False)))
CASE = """
import os, pytest
@pytest.mark.cluster
def test_it(): assert os.environ["KUBECONFIG"] == "/the/config"
"""


def test_a_commit_builds_the_programs_of_its_turn_and_test_full_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    all_of_them = ["kube-apiserver-1.28", "coscheduling", "metrics-server", "kueue"]
    seen: list[str] = []
    for number in ("4", "5", "6", "7"):
        monkeypatch.setenv("SLICE", number)
        seen += turns.programs(full=False)
        assert list(turns.programs(full=True)) == all_of_them
    assert seen == all_of_them


class ClusterSuite:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, in_ci: str = "") -> Outcome:
        return suites._cluster(False, None, {**os.environ, "CI": in_ci}, 120)

    def fails(self, command: str) -> None:
        (self.folder / "fails").write_text(command)

    @property
    def asked(self) -> list[str]:
        return (self.folder / "asked").read_text().splitlines()


@pytest.fixture
def prepared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterSuite:
    machine = tmp_path / "machine.py"
    machine.write_text(MACHINE)
    (tmp_path / "test_it.py").write_text(CASE)
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "test_large.py").write_text(CASE)
    (tmp_path / "alone").mkdir()
    (tmp_path / "alone" / "test_more.py").write_text(CASE)
    monkeypatch.setattr(cluster, "MACHINE", (sys.executable, str(machine), str(tmp_path)))
    monkeypatch.setattr(cluster, "NEED_LARGE_TOOLS", (str(tmp_path / "large"),))
    monkeypatch.setattr(cluster, "place", lambda _: cluster.Place(own=True))
    monkeypatch.setattr(suites, "BUILD", tmp_path)
    monkeypatch.setattr(suite, "BUILD", tmp_path)
    monkeypatch.setattr(suites, "CLUSTER_FOLDERS", (str(tmp_path),))
    monkeypatch.setattr(suites, "ALONE", str(tmp_path / "alone"))
    return ClusterSuite(tmp_path)


def test_the_image_is_built_while_the_cluster_comes_up_and_is_loaded_then(
    prepared: ClusterSuite, capfd: pytest.CaptureFixture[str]
) -> None:
    outcome = prepared.run()

    assert outcome.ok and outcome.counts.passed == 3
    assert sorted(prepared.asked[1:3]) == ["image --load none", "up"]
    asked = [command for command in prepared.asked[3:] if command != TOOLS]
    images = [f"image --target {name}" for name in ("cpu", "notebook", "serving-stand-in")]
    assert asked == ["apis", "browser", *images, "tools kubectl", "down"]
    assert TOOLS in prepared.asked
    assert "the words of image --load none" in capfd.readouterr().out


def test_cases_that_need_large_programs_wait_for_them_and_no_others(
    prepared: ClusterSuite, capfd: pytest.CaptureFixture[str]
) -> None:
    (prepared.folder / "slow").touch()
    first = prepared.folder / "test_it.py"
    touch = f"open({str(prepared.folder / 'first')!r}, 'w').close()"
    first.write_text(f"{CASE}\n@pytest.mark.cluster\ndef test_first(): {touch}\n")

    outcome = prepared.run()

    assert outcome.ok and outcome.counts.passed == 4
    told = capfd.readouterr().out
    parts = [line for line in told.splitlines() if line.startswith(("=== ", "--- large"))]
    assert parts == [
        "=== cluster",
        "--- large programs, built beside",
        "=== cluster-large-tools",
        "=== cluster-alone",
    ]


@pytest.mark.parametrize(
    "command",
    [
        *("up", "apis", "browser", TOOLS),
        *("image --load none", "image --target cpu", "image --target notebook"),
    ],
)
def test_what_fails_is_told_and_the_cluster_goes(
    prepared: ClusterSuite, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    if command == "image --load none":
        (prepared.folder / "building").touch()
    prepared.fails(command)

    outcome = prepared.run()

    told = capfd.readouterr()
    assert not outcome.ok and outcome.counts.failed == 1
    assert "exit status 7" in outcome.note and command.split()[0] in outcome.note
    assert f"the words of {command}\n" in told.out + told.err
    assert prepared.asked[-1] == "down"


def test_a_cluster_that_does_not_come_up_ends_the_building_of_the_image(
    prepared: ClusterSuite,
) -> None:
    prepared.fails("up")
    prepared.run()

    begun = prepared.folder / "building"
    eventually("the end of the image's build", lambda: not alive(int(begun.read_text())))
    assert not (prepared.folder / "up").exists()


def test_an_image_that_is_never_ready_is_ended_with_the_suite_and_its_words_are_shown(
    prepared: ClusterSuite, capfd: pytest.CaptureFixture[str]
) -> None:
    (prepared.folder / "hangs").touch()

    def end_the_suite_once_the_cluster_is_up() -> None:
        eventually("the cluster", (prepared.folder / "up").exists)
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, leave)
    threading.Thread(target=end_the_suite_once_the_cluster_is_up, daemon=True).start()
    try:
        with pytest.raises(SystemExit):
            prepared.run()
    finally:
        signal.signal(signal.SIGUSR1, before)

    assert not alive(int((prepared.folder / "building").read_text()))
    assert capfd.readouterr().out.count("the words of image --load none") == 1
    assert prepared.asked[-1] == "down"


@pytest.mark.parametrize(("in_ci", "ok"), [("1", False), ("", True)])
def test_in_ci_a_cluster_that_can_not_be_had_is_a_failure(
    prepared: ClusterSuite, in_ci: str, ok: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "place", lambda _: cluster.Place(reason="there is no Go"))

    outcome = prepared.run(in_ci)

    assert (outcome.ok, outcome.note) == (ok, "there is no Go")


def test_in_ci_a_case_of_the_cluster_that_is_skipped_is_a_failure(prepared: ClusterSuite) -> None:
    skips = CASE.replace("assert", "pytest.skip('nobody lists this');")
    (prepared.folder / "test_it.py").write_text(skips)

    assert prepared.run().ok
    assert not prepared.run("1").ok
