"""A program's code from a source: fetched before anything is waited for, gone with the task."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.ports import free_port
from tests.support.waiting import eventually
from tests.trainer.sources.serving import content, make_certificate, serving, to_a_login

from .conftest import MakeWorld
from .supervisors import Supervisors
from .test_scripts import told

SCRIPT = Path(__file__).with_name("stand_in_script.py").read_text()
ALL_REDUCE = ("all-reduce", "between-graph", "sync")


def script_world(make_world: MakeWorld, source: dict[str, Any], **more: Any) -> Supervisors:
    world = make_world(words=ALL_REDUCE)
    args = [str(world.children)]
    world.program = {"script": "train.py", "args": args, "source": source, **more}
    return world


def test_a_script_of_the_configuration_runs_where_it_was_put(make_world: MakeWorld) -> None:
    world = script_world(make_world, {"files": {"train.py": SCRIPT, "lib/one.py": "ONE = 1"}})
    client = world.start("worker")
    client.child(1)
    heard = told(client)
    place = Path(heard["directory"])
    assert sorted(path.name for path in place.iterdir()) == ["lib", "train.py"]
    client.do("exit 0")
    assert client.ends() == 0
    assert not place.exists()


def test_a_path_is_a_directory_in_the_source(make_world: MakeWorld) -> None:
    world = script_world(make_world, {"files": {"src/train.py": SCRIPT}}, path="src")
    client = world.start("worker")
    client.child(1)
    assert Path(told(client)["directory"]).name == "src"


def test_a_downloaded_script_runs(make_world: MakeWorld) -> None:
    body = SCRIPT.encode()
    with serving(content(body)) as (address, _):
        source = {"url": f"{address}/train.py", "sha256": hashlib.sha256(body).hexdigest()}
        client = script_world(make_world, source).start("worker")
        client.child(1)
    client.do("exit 0")
    assert client.ends() == 0


def test_a_wrong_hash_is_exit_2_and_names_both(make_world: MakeWorld) -> None:
    with serving(content(b"x")) as (address, _):
        source = {"url": f"{address}/train.py", "sha256": "0" * 64}
        client = script_world(make_world, source).start("worker")
        assert client.ends() == 2
    assert hashlib.sha256(b"x").hexdigest() in client.said()
    assert "0" * 64 in client.said().splitlines()[-1]


def test_a_server_that_is_away_is_exit_1(make_world: MakeWorld) -> None:
    url = f"http://127.0.0.1:{free_port()}/train.py"
    client = script_world(make_world, {"url": url, "sha256": "0" * 64}).start("worker")
    assert client.ends() == 1
    assert "given up after 2 tries" in client.said()


def test_a_certificate_that_is_not_trusted_is_exit_2_and_a_trusted_one_runs(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    certificate, body = make_certificate(tmp_path), SCRIPT.encode()
    with serving(content(body), certificate) as (address, _):
        source = {"url": f"{address}/train.py", "sha256": hashlib.sha256(body).hexdigest()}
        world = script_world(make_world, source)
        client = world.start("worker")
        assert client.ends() == 2
        last = client.said().splitlines()[-1]
        assert f"{address}/train.py: its certificate is not trusted" in last
        client = world.start("worker", SSL_CERT_FILE=str(certificate))
        client.child(1)
    client.do("exit 0")
    assert client.ends() == 0


def test_private_code_needs_the_login_of_its_secret_and_nobody_reads_it(
    make_world: MakeWorld, tmp_path: Path
) -> None:
    token, body = "glpat-x9Yz31", SCRIPT.encode()
    logins = tmp_path / "login"
    logins.mkdir()
    with serving(to_a_login("Authorization", f"Bearer {token}", body)) as (address, _):
        source = {"url": f"{address}/train.py", "sha256": hashlib.sha256(body).hexdigest()}
        world = script_world(make_world, {**source, "secretName": "code-login"})
        client = world.start("worker", TF_CLUSTER_SOURCE_LOGIN=str(logins))
        assert client.ends() == 2
        last = client.said().splitlines()[-1]
        assert "program.source.secretName is code-login" in last
        assert "username and password, or token" in last
        (logins / "token").write_text("glpat-wrong9")
        client = world.start("worker", TF_CLUSTER_SOURCE_LOGIN=str(logins))
        assert client.ends() == 2
        last = client.said().splitlines()[-1]
        assert "refuses the login of Secret code-login (key token)" in last
        assert "glpat-wrong9" not in client.said()
        (logins / "token").write_text(token)
        client = world.start("worker", TF_CLUSTER_SOURCE_LOGIN=str(logins))
        client.child(1)
    client.do("exit 0")
    assert client.ends() == 0
    assert token not in client.said()
    written = [file for file in tmp_path.rglob("*") if file.is_file() and file.parent != logins]
    assert any(file.name == "progress.json" for file in written)
    assert [file for file in written if token.encode() in file.read_bytes()] == []


def test_a_sigterm_while_code_is_fetched_is_42(make_world: MakeWorld) -> None:
    let_go = threading.Event()
    with serving(lambda _: let_go.wait(60) and None) as (address, asked):
        source = {"url": f"{address}/train.py", "sha256": "0" * 64}
        client = script_world(make_world, source).start("worker")
        eventually("the code is asked for", lambda: asked)
        client.stop()
        assert client.ends() == 42
        let_go.set()


def test_only_tasks_that_run_the_program_fetch_it(make_world: MakeWorld) -> None:
    world = make_world()
    with serving(content(b"", 404)) as (address, asked):
        source = {"url": f"{address}/code.zip", "sha256": "0" * 64}
        world.program = {"module": "train:Mine", "source": source}
        chief, worker, ps = world.start_all()
        assert chief.ends() == 2
        for task in (worker, ps):
            task.until(status="running")
    assert len(asked) == 1


@pytest.mark.parametrize("path", ["/data/code", "../code"])
def test_a_path_that_is_not_in_the_source_is_exit_2(make_world: MakeWorld, path: str) -> None:
    world = script_world(make_world, {"files": {"train.py": SCRIPT}}, path=path)
    client = world.start("worker")
    assert client.ends() == 2
    assert "with a source it is a directory in that" in client.said()


@pytest.mark.parametrize(
    "source", [{}, {"url": "http://a/b"}, {"files": {"a.py": ""}, "git": "http://a/b"}]
)
def test_a_source_is_one_of_three_forms(make_world: MakeWorld, source: dict[str, Any]) -> None:
    client = script_world(make_world, source).start("worker")
    assert client.ends() == 2
    assert "one of these is needed: files; url and sha256; git and commit" in client.said()


def test_a_module_is_looked_for_in_what_was_fetched(make_world: MakeWorld, tmp_path: Path) -> None:
    from tf_cluster_trainer.config import load

    world = make_world()
    source = {"files": {"src/mine.py": ""}}
    world.program = {"module": "mine:Mine", "path": "src", "source": source}
    environment = {
        "TF_CLUSTER_CONFIG": str(world.write()),
        "TF_CLUSTER_TASK_TYPE": "chief",
        "TF_CLUSTER_CODE": str(tmp_path),
    }
    assert load(environment).settings.program_path == str(tmp_path / "src")
