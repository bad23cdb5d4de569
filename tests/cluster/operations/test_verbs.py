"""list, get, logs, events and wait on real trainings: one that runs, and one that is done."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml

from tests.cluster.conftest import ROOT, MakeValues, sleeping_pod
from tests.cluster.kubernetes import CommandError, Namespace, Release
from tests.cluster.operations.conftest import TOOL, Tool
from tests.programs import ENDLESS, SLOWLY
from tests.support.waiting import HANG_SECONDS, eventually

pytestmark = pytest.mark.cluster

RUNNING, DONE = "running", "done"


class Following:
    """A command whose lines are read as they come."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)

    def ended(self) -> int:
        """Its exit code, when it ends by itself."""
        code = self.process.wait(HANG_SECONDS)
        self._thread.join(HANG_SECONDS)
        return code


@pytest.fixture(scope="module")
def running(make_release: Callable[[str], Release], make_values: MakeValues, tool: Tool) -> Release:
    release = make_release(RUNNING)
    release.install(make_values(RUNNING, **SLOWLY, train={"steps": ENDLESS}))
    eventually("steps", lambda: tool.document("get", RUNNING)["step"], 120)
    return release


@pytest.fixture(scope="module")
def done(make_release: Callable[[str], Release], make_values: MakeValues, tool: Tool) -> Release:
    release = make_release(DONE)
    release.install(make_values(DONE, train={"steps": 200}, workers=1))
    said = tool("wait", DONE, "--timeout", "600")
    assert said.startswith("done, 100.0%, step 200 of 200")
    assert "accuracy" in said
    return release


def test_list_says_how_far_each_is(running: Release, done: Release, tool: Tool) -> None:
    rows = {row["name"]: row for row in tool.document("list")["trainings"]}

    assert set(rows) == {RUNNING, DONE}
    assert rows[RUNNING]["status"] == "running"
    assert 0 < rows[RUNNING]["step"] < rows[RUNNING]["total"] == ENDLESS
    assert rows[RUNNING]["tasks"] == {"ready": 4, "total": 4}
    assert rows[DONE]["status"] == "done"
    assert (rows[DONE]["step"], rows[DONE]["percent"]) == (200, 100.0)
    assert {row["managedBy"] for row in rows.values()} == {"helm"}

    head, *lines = tool("list", "--all-namespaces", "-o", "wide").splitlines()
    assert head.split()[:3] == ["NAMESPACE", "NAME", "STATUS"]
    mine = [line.split()[1:3] for line in lines if line.split()[0] == running.namespace.name]
    assert mine == [[DONE, "done"], [RUNNING, "running"]]
    assert tool("list", "-o", "name").split() == sorted((RUNNING, DONE))


def test_get_says_what_each_task_does(running: Release, tool: Tool) -> None:
    document = tool.document("get", RUNNING)
    pods = {pod["task"]: pod for pod in document["pods"]}
    assert set(pods) == {"chief", "worker-0", "worker-1", "ps-0"}
    assert all(pod["ready"] and pod["status"] == "Running" for pod in pods.values())
    assert [claim["status"] for claim in document["claims"]] == ["Bound", "Bound"]
    assert set(document["workers"]) == {"0", "1"}
    assert yaml.safe_load(tool("get", RUNNING, "-o", "yaml"))["attempts"] == document["attempts"]

    text = tool("get", RUNNING)
    assert f"attempt     {document['attempt']}" in text
    assert pods["worker-1"]["name"] in text


def test_get_says_the_end_and_the_export(done: Release, tool: Tool) -> None:
    document = tool.document("get", DONE)
    assert document["export"] == f"/log/{DONE}/1/export/1"
    assert 0 < document["metrics"]["accuracy"] <= 1
    client = next(pod for pod in document["pods"] if pod["task"] == "chief")
    assert (client["status"], client["lastExitCode"]) == ("Succeeded", 0)
    assert f"exported to /log/{DONE}/1/export/1" in tool("get", DONE)


def test_logs_are_merged_chosen_and_saved(running: Release, tool: Tool, tmp_path: Path) -> None:
    tasks = {line.split(" | ")[0] for line in tool("logs", RUNNING).splitlines()}
    assert tasks == {"chief", "worker-0", "worker-1", "ps-0"}
    some = tool("logs", RUNNING, "--role", "worker", "--index", "1", "--tail", "1")
    (line,) = some.splitlines()
    assert line.startswith("worker-1 | ")
    times = [
        line.split()[0]
        for line in tool("logs", RUNNING, "--timestamps", "--tail", "5").splitlines()
    ]
    assert times == sorted(times)
    assert len(times) > 5

    saved = tmp_path / "logs"
    tool("logs", RUNNING, "--save", str(saved))
    names = sorted(path.name.split(".")[0] for path in saved.iterdir())
    assert names == ["chief", "ps-0", "worker-0", "worker-1"]
    assert "exists" in tool.ran("logs", RUNNING, "--save", str(saved), code=2).stderr


def test_logs_of_the_last_seconds_are_no_older(running: Release, tool: Tool) -> None:
    begin = datetime.now(timezone.utc) - timedelta(seconds=30)
    words = ("logs", RUNNING, "--timestamps", "--since", "20s")
    lines = eventually("lines", lambda: tool(*words).splitlines(), HANG_SECONDS)
    times = [datetime.fromisoformat(f"{line.split()[0][:19]}+00:00") for line in lines]
    assert min(times) > begin
    assert len(lines) < len(tool("logs", RUNNING).splitlines())


def test_the_log_viewers_address_is_of_the_training(running: Release, tool: Tool) -> None:
    viewer = "https://logs.example.com/?ns={namespace}&q={name}+{attempt}"
    said = tool.ran("logs", RUNNING, "--web", TF_CLUSTER_LOGS_URL=viewer).stdout
    attempt = tool.document("get", RUNNING)["attempt"]
    ours = running.namespace.name
    assert said == f"https://logs.example.com/?ns={ours}&q={RUNNING}+{attempt}\n"
    assert "TF_CLUSTER_LOGS_URL is not set" in tool.ran("logs", RUNNING, "--web", code=2).stderr


@pytest.fixture
def pods_with_host_paths(namespace: Namespace) -> Iterator[Namespace]:
    """Another namespace, where pods may mount directories of the node."""
    name = f"{namespace.name}-robots"
    namespace.kubectl("create", "namespace", name)
    yield replace(namespace, name=name)
    namespace.kubectl("delete", "namespace", name, "--wait=false")


def test_in_a_pod_the_tool_is_its_account(
    running: Release, pods_with_host_paths: Namespace
) -> None:
    there, trainings = pods_with_host_paths, running.namespace
    there.kubectl("create", "serviceaccount", "robot")
    folders = sorted({str(ROOT), sys.prefix, sys.base_prefix})
    mounts = [
        {"name": f"v{number}", "mountPath": folder, "readOnly": True}
        for number, folder in enumerate(folders)
    ]
    pod = sleeping_pod(
        "robot",
        {"volumeMounts": mounts},
        volumes=[
            {"name": mount["name"], "hostPath": {"path": mount["mountPath"]}} for mount in mounts
        ],
        serviceAccountName="robot",
        automountServiceAccountToken=True,
        # The folders are this user's.
        securityContext={"runAsUser": 0, "runAsGroup": 0},
    )
    there.apply(pod)
    there.kubectl("wait", "--for=condition=Ready", "pod/robot", "--timeout=2m")
    command = ("exec", "robot", "--", str(TOOL), "list", "-n", trainings.name, "-o", "name")
    with pytest.raises(CommandError, match="exit 2") as refused:
        there.kubectl(*command)
    assert f"system:serviceaccount:{there.name}:robot" in str(refused.value)
    who = f"--serviceaccount={there.name}:robot"
    trainings.kubectl("create", "rolebinding", "robot", "--clusterrole=view", who)
    names = eventually("the list", lambda: _list_of(there, command), HANG_SECONDS)
    assert RUNNING in names


def _list_of(there: Namespace, command: tuple[str, ...]) -> list[str]:
    try:
        return there.kubectl(*command).split()
    except CommandError:
        return []


def test_events_are_those_of_its_objects(running: Release, done: Release, tool: Tool) -> None:
    objects = [one["object"] for one in tool.document("events", RUNNING)["events"]]
    text = tool("events", RUNNING)
    assert {one["kind"] for one in objects} >= {"Job", "Pod"}
    assert all(f"{one['kind'].lower()}/{one['name']}" in text for one in objects)
    assert "SuccessfulCreate" in text
    assert f"job/{RUNNING}-worker-" in text
    assert f"{DONE}-" not in text


def test_a_wait_tells_programs_what_list_does(done: Release, tool: Tool) -> None:
    (row,) = tool.document("wait", DONE)["trainings"]
    assert (row["name"], row["status"], row["step"]) == (DONE, "done", 200)


def test_a_wait_that_is_too_short_says_how_far_it_is(running: Release, tool: Tool) -> None:
    said = tool.ran("wait", RUNNING, "--timeout", "1", code=2).stderr
    assert "has not ended within 1 s: it is running" in said


def test_who_may_not_read_logs_is_told_so_and_sees_the_rest(
    running: Release, done: Release, namespace: Namespace, tmp_path: Path, kube_config: str
) -> None:
    viewer = Tool(namespace, _without_logs(namespace, kube_config, tmp_path))

    ran = viewer.ran("list", "--output", "json")
    rows = {row["name"]: row for row in json.loads(ran.stdout)["trainings"]}
    # How a training ended is in its pod's status, which is not its log.
    assert (rows[DONE]["status"], rows[DONE]["step"]) == ("done", 200)
    assert (rows[RUNNING]["status"], rows[RUNNING]["step"]) == ("starting", None)
    assert "pods/log" in ran.stderr
    assert "pods/log" in viewer.ran("logs", RUNNING, code=2).stderr
    assert "list persistentvolumeclaims" in viewer.ran("get", RUNNING).stderr


def _without_logs(namespace: Namespace, kube_config: str, folder: Path) -> str:
    """A kubeconfig of an account that may read Jobs, Deployments and pods, and no more."""
    name = "viewer"
    meta = {"name": name}
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
        {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
        {"apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["list"]},
    ]
    group = "rbac.authorization.k8s.io"
    who = {"kind": "ServiceAccount", "name": name, "namespace": namespace.name}
    role = {"apiGroup": group, "kind": "Role", "name": name}
    for document in (
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": meta,
            "subjects": [who],
            "roleRef": role,
        },
    ):
        namespace.apply(document)
    config = yaml.safe_load(Path(kube_config).read_text())
    token = namespace.kubectl("create", "token", name).strip()
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path = folder / "viewer.kubeconfig"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_logs_of_a_container_that_was_restarted(running: Release, tool: Tool) -> None:
    words = ("logs", RUNNING, "--previous")
    assert "no container of running was restarted" in tool.ran(*words, code=2).stderr
    (ps,) = running.running("ps")
    name = ps["metadata"]["name"]
    before = tool("logs", RUNNING, "--role", "ps").splitlines()
    running.namespace.kubectl(
        *("exec", name, "--", "python", "-c", "import os, signal; os.kill(1, signal.SIGTERM)")
    )
    said = eventually("its log", lambda: _printed(tool, *words), HANG_SECONDS).splitlines()
    assert said[: len(before)] == before
    assert {line.split(" | ")[0] for line in said} == {"ps-0"}


def _printed(tool: Tool, *words: str) -> str:
    done = subprocess.run(
        tool.command(*words), capture_output=True, text=True, check=False, env=tool.environment
    )
    return done.stdout


@pytest.fixture
def following(running: Release, tool: Tool) -> Iterator[Following]:
    process = tool.started("logs", RUNNING, "--follow", "--tail", "1")
    yield Following(process)
    process.kill()


def test_followed_logs_go_on_with_a_replaced_pod_and_end_with_the_training(
    running: Release, following: Following, namespace: Namespace
) -> None:
    def starts() -> int:
        return sum("worker-1 | " in line and "serving at" in line for line in following.lines)

    eventually("a line of worker 1", lambda: "worker-1 | " in "".join(following.lines), 60)
    before = starts()
    pod = eventually("worker 1", lambda: running.worker(1), 60)
    namespace.kubectl("delete", "pod", pod["metadata"]["name"], "--wait=false")
    eventually("lines of the new worker 1", lambda: starts() == before + 1, 120)

    running.uninstall()
    assert following.ended() == 0
