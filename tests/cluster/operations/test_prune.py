"""prune: what goes, what stays, what was asked first, and what a failure or Ctrl-C leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from tf_cluster.params.schema_files import printed_schema_text

from tests.cluster import turns
from tests.cluster.conftest import CHART, SMALL, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.operations.conftest import MakeTerminal, Tool, claim
from tests.slices import in_turn
from tests.support.waiting import HANG_SECONDS, eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900), in_turn(turns.PRUNE, of=turns.OF)]

CLAIM = "team"
# A training whose task starts no TensorFlow: it ends as soon as its pod runs.
SCRIPTS = {
    "ends": "print('trained')\n",
    "fails": "raise SystemExit(2)\n",
    "runs": "import time\ntime.sleep(3600)\n",
}
ENDED = ("one", "two", "three", "four")
RUNS, FAILS, FAILS_TOO, TRACKED, PAGED, DIGITS = (
    "runs",
    "fails",
    "fails-too",
    "tracked",
    "paged",
    "digits",
)
MarkedBy = Callable[[str, str], None]


@dataclass(frozen=True)
class World:
    """Trainings of which six may go: their names, the one that ended last first."""

    newest: list[str]
    values: dict[str, Path]

    def going(self, keep: int) -> list[str]:
        """What `--keep` lets go, but for the one with a page."""
        return [name for name in self.newest[keep:] if name != PAGED]


@pytest.fixture(scope="module")
def script_values(
    make_values: MakeValues, namespace: Namespace, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., Path]:
    """Values of a training of one script, whose runs are on the team's claim."""
    namespace.apply(claim(CLAIM))
    folder = tmp_path_factory.mktemp("scripts")
    for name, text in SCRIPTS.items():
        (folder / f"{name}.py").write_text(text)

    def make(name: str, script: str = "ends", **params: Any) -> Path:
        return make_values(
            name,
            small=False,
            beside=(folder / f"{script}.py",),
            program={"source": {"files": [f"{script}.py"]}, "script": f"{script}.py"},
            strategy="all-reduce",
            workers=1,
            resources={"worker": SMALL["worker"]},
            data={"enabled": False},
            log={"claim": CLAIM},
            **params,
        )

    return make


@pytest.fixture(scope="module")
def world(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    script_values: Callable[..., Path],
    namespace: Namespace,
    tool: Tool,
) -> World:
    """Six trainings are done, one more is marked as Argo CD's, one runs, two have failed."""
    at_once = {"cleanup": {"delaySeconds": {"success": 0}}}
    values = {
        DIGITS: make_values(DIGITS, train={"steps": 20}, workers=1, extraValues=at_once),
        RUNS: script_values(RUNS, "runs"),
        FAILS: script_values(FAILS, "fails"),
        FAILS_TOO: script_values(FAILS_TOO, "fails"),
        TRACKED: script_values(TRACKED),
        PAGED: script_values(PAGED, tensorboard=True),
        **{name: script_values(name) for name in ENDED},
    }
    for name, file in values.items():
        make_release(name).install(file)
    others = {RUNS: "running", FAILS: "failed", FAILS_TOO: "failed"}
    expected = {name: others.get(name, "done") for name in values}

    def statuses() -> bool:
        rows = tool.document("list")["trainings"]
        return {row["name"]: row["status"] for row in rows} == expected

    eventually("how all end", statuses, 90, every=3)
    eventually("its last Job", lambda: _has_ended(Release(namespace, DIGITS, CHART)), 60)
    mark = f"argocd.argoproj.io/tracking-id=vision:batch/Job:{namespace.name}/x"
    job = Release(namespace, TRACKED, CHART).one("job", "worker")["metadata"]["name"]
    namespace.kubectl("annotate", "job", job, mark)
    ends = {
        name: max(job["status"]["completionTime"] for job in _jobs(namespace, name))
        for name in (*ENDED, PAGED, DIGITS)
    }
    newest = sorted(sorted(ends), key=lambda name: ends[name], reverse=True)
    return World(newest, values)


def _jobs(namespace: Namespace, name: str) -> list[dict[str, Any]]:
    return Release(namespace, name, CHART).objects("job")


def _has_ended(release: Release) -> bool:
    jobs = release.objects("job")
    alive = [pod for pod in release.objects("pod") if pod["status"]["phase"] != "Succeeded"]
    return len(jobs) == 3 and not alive and all("completionTime" in job["status"] for job in jobs)


def installed(namespace: Namespace) -> set[str]:
    return {one["name"] for one in json.loads(namespace.helm("list", "--output=json"))}


def plan(tool: Tool, *words: str) -> dict[str, tuple[str, str]]:
    """Outcome and reason of each release."""
    document = tool.document("prune", *words)
    Draft7Validator(json.loads(printed_schema_text("prune"))).validate(document)
    return {one["name"]: (one["outcome"], one["why"]) for one in document["releases"]}


def test_the_plan_says_what_goes_and_why_the_rest_stays(
    world: World, namespace: Namespace, tool: Tool
) -> None:
    before = installed(namespace)
    said = plan(tool, "--keep", "2", "--dry-run")
    page = ("stays", f"deployment/{PAGED}-tensorboard serves a page: --pages takes such, too")
    assert said == {
        RUNS: ("stays", said[RUNS][1]),
        FAILS: ("stays", "it failed: --failed takes such, too"),
        FAILS_TOO: ("stays", "it failed: --failed takes such, too"),
        TRACKED: ("stays", "Argo CD manages it: Application vision"),
        PAGED: page,
        **{name: ("goes", "") for name in world.newest[2:] if name != PAGED},
        **dict.fromkeys(world.newest[:2], ("stays", "one of the newest 2: --keep")),
    }
    assert said[RUNS][1].startswith(f"{RUNS}-worker-")
    assert said[RUNS][1].endswith(" has not ended")
    failed_too = plan(tool, "--keep", "0", "--failed", "--pages", "--dry-run")
    assert {name for name, (word, _) in failed_too.items() if word == "stays"} == {RUNS, TRACKED}
    old = plan(tool, "--older", "2h", "--keep", "0", "--dry-run")
    assert {word for word, _ in old.values()} == {"stays"}

    head, *lines = tool("prune", "--keep", "2", "--dry-run").splitlines()
    assert head.split() == ["NAME", "ENDED", "AGE", "PLAN", "WHY"]
    going = set(world.going(keep=2))
    assert {line.split()[0] for line in lines[: len(going)]} == going
    rows = tool("prune", "--all-namespaces", "--keep", "2", "--dry-run").splitlines()
    mine = [row.split()[1] for row in rows if row.split()[0] == namespace.name]
    assert set(mine[: len(going)]) == going
    assert installed(namespace) == before


def test_what_is_not_said_whole_is_refused(world: World, namespace: Namespace, tool: Tool) -> None:
    before = installed(namespace)
    assert "--older 7d" in tool.ran("prune", code=2).stderr
    assert "--yes in a script" in tool.ran("prune", "--keep", "0", code=2).stderr
    assert "write it as" in tool.ran("prune", "--older", "soon", code=2).stderr
    assert installed(namespace) == before


def test_a_no_removes_nothing_and_what_was_upgraded_meanwhile_stays(
    world: World, namespace: Namespace, tool: Tool, terminal: MakeTerminal
) -> None:
    before = installed(namespace)
    keep = max(number for number in range(6) if len(world.going(number)) == 2)
    goes, upgraded = sorted(world.going(keep), key=lambda name: name != DIGITS)
    asked = terminal("prune", "--keep", str(keep))
    asked.until("Type yes to go on: ")
    assert "uninstall 2 releases; claims stay" in asked.read
    asked.type("y")
    assert asked.ended() == 2
    assert "nothing is removed" in asked.read
    assert installed(namespace) == before

    asked = terminal("prune", "--keep", str(keep))
    asked.until("Type yes to go on: ")
    Release(namespace, upgraded, CHART).upgrade(world.values[upgraded], "run.attempt=2")
    asked.type("yes")
    assert asked.ended() == 0, asked.read
    assert f"uninstalled {namespace.name}/{goes}\r\n" in asked.read
    assert f"{namespace.name}/{upgraded} stays: " in asked.read
    assert installed(namespace) == before - {goes}


@pytest.fixture
def kept_job(namespace: Namespace) -> Iterator[MarkedBy]:
    """An administrator's policy: nobody deletes this Job."""
    name = f"keep-{namespace.name}"
    group = "admissionregistration.k8s.io/v1"

    def keep(job: str, words: str) -> None:
        only = {"matchLabels": {"kubernetes.io/metadata.name": namespace.name}}
        rule = {"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
        namespace.apply(
            {
                "apiVersion": group,
                "kind": "ValidatingAdmissionPolicy",
                "metadata": {"name": name},
                "spec": {
                    "failurePolicy": "Fail",
                    "matchConstraints": {
                        "namespaceSelector": only,
                        "resourceRules": [{**rule, "operations": ["DELETE"]}],
                    },
                    "validations": [
                        {"expression": f"oldObject.metadata.name != '{job}'", "message": words}
                    ],
                },
            }
        )
        namespace.apply(
            {
                "apiVersion": group,
                "kind": "ValidatingAdmissionPolicyBinding",
                "metadata": {"name": name},
                "spec": {"policyName": name, "validationActions": ["Deny"]},
            }
        )

        def denied() -> bool:
            try:
                namespace.kubectl("delete", "job", job, "--dry-run=server")
            except AssertionError as error:
                return words in str(error)
            return False

        eventually("the policy", denied, 60)

    yield keep
    for kind in ("validatingadmissionpolicybinding", "validatingadmissionpolicy"):
        namespace.kubectl("delete", kind, name, "--ignore-not-found")


def test_one_that_fails_keeps_no_other_and_claims_stay(
    world: World, namespace: Namespace, tool: Tool, kept_job: MarkedBy
) -> None:
    stuck = next(name for name in world.newest if name in ENDED)
    (job,) = _jobs(namespace, stuck)
    kept_job(job["metadata"]["name"], "not this one")
    claims = {one["metadata"]["name"] for one in namespace.objects("pvc")}
    assert claims == {CLAIM, f"{DIGITS}-data", f"{DIGITS}-log"}
    before = installed(namespace)

    ran = tool.ran("prune", "--keep", "0", "--yes", "--output", "json", code=2)
    document = json.loads(ran.stdout)
    outcomes = {one["name"]: (one["outcome"], one["why"]) for one in document["releases"]}
    assert outcomes[stuck][0] == "failed"
    assert outcomes[stuck][1].startswith("helm uninstall: Error: failed to delete release")
    assert "--debug says more" in outcomes[stuck][1]
    gone = {name for name, (word, _) in outcomes.items() if word == "uninstalled"}
    may_go = before & {*ENDED, DIGITS} - {stuck}
    # The one that was upgraded may still be at work on its second attempt.
    assert len(may_go - gone) <= 1
    assert gone <= may_go
    assert f"1 of {len(gone) + 1} failed: {namespace.name}/{stuck}" in ran.stderr
    assert installed(namespace) & gone == set()
    assert {RUNS, FAILS, FAILS_TOO, TRACKED, PAGED} <= installed(namespace)
    assert {one["metadata"]["name"] for one in namespace.objects("pvc")} == claims
    left = namespace.objects("job,deployment,pod")
    owners = {one["metadata"]["labels"]["app.kubernetes.io/instance"] for one in left}
    assert owners == (before | {stuck}) - gone
    again = plan(tool, "--keep", "0", "--dry-run")[stuck][1]
    assert again.startswith("an uninstall of it has begun")


def test_after_ctrl_c_it_is_known_what_went(world: World, namespace: Namespace, tool: Tool) -> None:
    some = {FAILS, FAILS_TOO, PAGED}
    words = ("prune", "--keep", "0", "--failed", "--pages", "--yes")
    with subprocess.Popen(
        tool.command(*words),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=tool.environment,
        start_new_session=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        lines = []
        for line in process.stdout:
            lines.append(line)
            if line.startswith("uninstalled "):
                break
        os.killpg(process.pid, signal.SIGINT)
        lines += process.stdout.readlines()
        complaint = process.stderr.read()
        code = process.wait(HANG_SECONDS)
    went = {line.split("/")[1].strip() for line in lines if line.startswith("uninstalled ")}
    assert code == 130, complaint
    left = complaint.partition("not tried are ")[2].strip().split(", ")
    not_tried = {one.split("/")[1] for one in left}
    assert some <= went | not_tried
    assert went.isdisjoint(installed(namespace))
    assert not_tried <= installed(namespace)
