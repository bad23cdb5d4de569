"""What ends a child before any other task is needed."""

from __future__ import annotations

import os
import signal
import socket
from dataclasses import replace
from pathlib import Path

import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Ready, Serving

from tests.trainer.child.world import World

HERE = str(Path(__file__).parents[3])
BROKEN = "tests.trainer.child.programs.broken"


@pytest.mark.parametrize(
    ("module", "words"),
    [
        pytest.param("no_such:Digits", ["no module named no_such", "program.path"], id="module"),
        pytest.param(f"{BROKEN}:Smal", ["has no Smal", "did you mean Small"], id="class"),
        pytest.param(f"{BROKEN}:NotAProgram", ["no subclass", "Small"], id="subclass"),
        pytest.param(
            f"{BROKEN}:NoDataset", ["defines no dataset", "did you mean data_set"], id="hook"
        ),
        pytest.param(f"{BROKEN}:ScalarLoss", ["one value for each example", "loss"], id="loss"),
        pytest.param(f"{BROKEN}:RaisesInLoss", ["_no_such_function"], id="raises"),
        pytest.param(f"{BROKEN}:AsksForAFlag", ["no flag 'unit'", "did you mean units"], id="flag"),
    ],
)
def test_a_bad_program_is_refused_before_go(lonely: World, module: str, words: list[str]) -> None:
    chief = lonely.chief(module=module, path=HERE, flags={"units": 3})
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    assert not chief.of(Ready)
    (failure,) = chief.of(Failure)
    for word in words:
        assert word in failure.message


def test_a_broken_hook_shows_its_own_lines(lonely: World) -> None:
    chief = lonely.chief(module=f"{BROKEN}:RaisesInLoss", path=HERE)
    assert chief.exit_code() == exit_codes.CONFIG
    text = chief.text()
    assert text.index("programs/broken.py") < text.index("site-packages")
    assert "return _no_such_function(labels)" in text


def test_a_sigterm_during_the_import_ends_the_chief_with_42(lonely: World) -> None:
    chief = lonely.chief()
    chief.wait_until_it_listens()
    chief.signal(signal.SIGTERM)
    assert chief.exit_code(deadline=20) == exit_codes.STOPPED
    assert not chief.of(Ready)


def test_a_sigterm_ends_a_server_with_42(lonely: World) -> None:
    worker = lonely.start("worker")
    worker.wait_for(Serving)
    worker.signal(signal.SIGTERM)
    assert worker.exit_code(deadline=5) == exit_codes.STOPPED


def test_a_child_ends_when_its_supervisor_is_gone(lonely: World) -> None:
    worker = lonely.start("worker")
    worker.wait_for(Serving)
    worker.hang_up()
    assert worker.exit_code(deadline=5) != exit_codes.DONE


def test_a_taken_port_is_named(lonely: World) -> None:
    address = lonely.addresses["ps"][0]
    with socket.socket() as other:
        other.bind(("0.0.0.0", int(address.rpartition(":")[2])))
        other.listen()
        ps = lonely.start("ps")
        assert ps.exit_code() == exit_codes.CONFIG, ps.tail()
    (failure,) = ps.of(Failure)
    assert address in failure.message


def test_fail_fast_false_is_refused(lonely: World) -> None:
    world = replace(lonely, environment={**os.environ, "GRPC_FAIL_FAST": "false"})
    ps = world.start("ps")
    assert ps.exit_code() == exit_codes.CONFIG
    assert "GRPC_FAIL_FAST" in ps.of(Failure)[0].message


def test_an_attempt_that_does_not_own_the_run_touches_nothing(lonely: World) -> None:
    chief = lonely.start("chief")
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.NOT_OWNER, chief.tail()
    assert not lonely.run_dir().exists()
