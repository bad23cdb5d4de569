"""What ends a child before any other task is needed."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tf_cluster_trainer import config, exit_codes
from tf_cluster_trainer.errors import ProgramError
from tf_cluster_trainer.program import load as user_program
from tf_cluster_trainer.program import prepare
from tf_cluster_trainer.protocol import Failure, Ready, Serving

from tests.support.children import Children, training

HERE = str(Path(__file__).parents[3])
Told = Callable[..., config.Config]
BROKEN = "tests.trainer.child.programs.broken"


@pytest.fixture
def lonely(lonely: Children) -> Children:
    """The start itself is the point here."""
    lonely.forks = False
    return lonely


@pytest.fixture
def told(tmp_path: Path) -> Told:
    """What a chief is told, with a training.json of these settings."""

    def make(**settings: Any) -> config.Config:
        hosts = {kind: ["127.0.0.1:1"] for kind in ("chief", "worker", "ps")}
        cluster = {"version": 1, "attempt": "test", "cluster": hosts, "status": hosts}
        (tmp_path / "cluster.json").write_text(json.dumps(cluster))
        (tmp_path / "training.json").write_text(json.dumps(training(tmp_path, **settings)))
        return config.load({"TF_CLUSTER_CONFIG": str(tmp_path), "TF_CLUSTER_TASK_TYPE": "chief"})

    return make


@pytest.mark.parametrize(
    ("module", "words"),
    [
        pytest.param("no_such:Digits", ["no module named no_such", "program.path"], id="module"),
        pytest.param(f"{BROKEN}:Smal", ["has no Smal", "did you mean Small"], id="class"),
        pytest.param(f"{BROKEN}:NotAProgram", ["no subclass", "Small"], id="subclass"),
        pytest.param(
            f"{BROKEN}:NoDataset", ["defines no dataset", "did you mean data_set"], id="hook"
        ),
    ],
)
def test_a_bad_program_is_named(told: Told, module: str, words: list[str]) -> None:
    with pytest.raises(ProgramError) as error:
        user_program.load(told(module=module, path=HERE).settings)
    for word in words:
        assert word in str(error.value)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        pytest.param("ScalarLoss", ["loss", "one value for each example"], id="loss"),
        pytest.param("RaisesInLoss", ["_no_such_function"], id="raises"),
        pytest.param("AsksForAFlag", ["no flag 'unit'", "did you mean units"], id="flag"),
        pytest.param("AdaptsALayer", ["adapt", "vocabulary=..."], id="adapt"),
        pytest.param("WeighsWords", ["unknown shape", "tf_idf"], id="tf-idf"),
    ],
)
def test_a_broken_hook_is_named(told: Told, name: str, words: list[str]) -> None:
    with pytest.raises(ProgramError) as error:
        prepare.prepare(told(module=f"{BROKEN}:{name}", path=HERE, flags={"units": 3}))
    for word in words:
        assert word in str(error.value)


def test_a_broken_hook_ends_the_chief_before_go_and_shows_its_own_lines(lonely: Children) -> None:
    child = lonely.chief(module=f"{BROKEN}:RaisesInLoss", path=HERE)
    assert child.exit_code() == exit_codes.CONFIG
    assert not child.of(Ready)
    assert "_no_such_function" in child.of(Failure)[0].message
    text = child.text()
    assert text.index("programs/broken.py") < text.index("site-packages")
    assert "return _no_such_function(labels)" in text


def test_a_sigterm_during_the_import_ends_the_chief_with_42(lonely: Children) -> None:
    child = lonely.chief()
    child.wait_until_it_listens()
    child.signal(signal.SIGTERM)
    assert child.exit_code(deadline=20) == exit_codes.STOPPED
    assert not child.of(Ready)


def test_a_sigterm_ends_a_server_with_42(lonely: Children) -> None:
    worker = lonely.start("worker")
    worker.wait_for(Serving)
    worker.signal(signal.SIGTERM)
    assert worker.exit_code(deadline=30) == exit_codes.STOPPED


def test_a_child_ends_when_its_supervisor_is_gone(lonely: Children) -> None:
    worker = lonely.start("worker")
    worker.wait_for(Serving)
    worker.hang_up()
    assert worker.exit_code(deadline=30) != exit_codes.DONE


def test_a_taken_port_is_named(lonely: Children) -> None:
    address = lonely.addresses["ps"][0]
    with socket.socket() as other:
        other.bind(("0.0.0.0", int(address.rpartition(":")[2])))
        other.listen()
        ps = lonely.start("ps")
        assert ps.exit_code() == exit_codes.CONFIG, ps.tail()
    (failure,) = ps.of(Failure)
    assert address in failure.message


def test_fail_fast_false_is_refused(lonely: Children) -> None:
    world = replace(lonely, environment={**os.environ, "GRPC_FAIL_FAST": "false"})
    ps = world.start("ps")
    assert ps.exit_code() == exit_codes.CONFIG
    assert "GRPC_FAIL_FAST" in ps.of(Failure)[0].message


def test_the_callers_directory_is_not_imported_from(lonely: Children, tmp_path: Path) -> None:
    here = tmp_path / "here"
    (here / "tensorflow").mkdir(parents=True)
    for name in ("queue.py", "tensorflow/__init__.py"):
        (here / name).write_text("raise RuntimeError('not to be imported')\n")
    (here / "only_here.py").write_text("raise RuntimeError('not to be imported')\n")
    world = replace(lonely, where=here)
    good = world.chief()
    missing = world.chief(module="only_here:Program")
    good.wait_for(Ready)
    assert missing.exit_code() == exit_codes.CONFIG
    assert "no module named only_here" in missing.of(Failure)[0].message
    for child in (good, missing):
        child.end()


def test_an_attempt_that_does_not_own_the_run_touches_nothing(lonely: Children) -> None:
    child = lonely.start("chief")
    child.wait_for(Ready)
    child.go()
    assert child.exit_code() == exit_codes.NOT_OWNER, child.tail()
    assert not lonely.run_dir().exists()
