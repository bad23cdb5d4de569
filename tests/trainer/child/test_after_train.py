"""The program's last word: when it is called, by whom, and what becomes of its failure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Ready, Result

from tests.support.children import Child, Children
from tests.support.trainings import HERE, saved
from tests.trainer.child.programs.after_train import NOTES
from tests.trainer.child.programs.awaiting import give_the_sign

PROGRAMS = "tests.trainer.child.programs.after_train:"
STEPS = 30


def trained(world: Children, program: str) -> Child:
    """A chief that has ended."""
    chief = world.chief(run_id=program, module=PROGRAMS + program, path=HERE, steps=STEPS)
    chief.wait_for(Ready)
    chief.go()
    chief.exit_code()
    return chief


def notes(world: Children, run_id: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (world.run_dir(run_id) / NOTES).open()]


def assert_it_came_last(world: Children, run_id: str, task: str) -> None:
    """After all else, once, with the trained model outside any strategy."""
    before, note = notes(world, run_id)
    assert (before["hook"], note["hook"], note["task"]) == ("evaluate", "after_train", task)
    assert (before["exports"], note["exports"]) == ([], ["1"])
    assert f"ckpt-{STEPS}" in note["checkpoints"]
    assert note["kinds"] == ["ResourceVariable"]
    np.testing.assert_array_equal(note["kernel"], saved(world, run_id, STEPS)["dense/kernel"])


def test_it_is_called_once_by_the_chief_when_all_else_is_there(world: Children) -> None:
    chief = trained(world, "Remembers")
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert_it_came_last(world, "Remembers", "chief-0")


def test_without_a_chief_worker_0_alone_calls_it(tmp_path: Path) -> None:
    with Children(tmp_path, workers=2, ps=0, has_chief=False) as world:
        told = {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}
        workers = world.train(module=f"{PROGRAMS}Remembers", path=HERE, steps=STEPS, **told)
        for worker in workers:
            assert worker.exit_code() == exit_codes.DONE, worker.tail()
        assert_it_came_last(world, "1", "worker-0")


def test_a_bucket_that_fails_it_is_no_lost_worker_when_the_others_are_done(tmp_path: Path) -> None:
    with Children(tmp_path, workers=2, ps=0, has_chief=False) as world:
        told = {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"}
        module = "tests.trainer.child.programs.awaiting:UploadsAtTheSign"
        workers = world.train(module=module, path=HERE, steps=STEPS, **told)
        assert workers[1].exit_code() == exit_codes.DONE, workers[1].tail()
        give_the_sign(world.directory)
        assert workers[0].exit_code() == exit_codes.FAILED, workers[0].tail()
        assert workers[0].of(Failure)[-1].message == (
            "the program failed in after_train: UnavailableError: gs://models: Connection reset by "
            "peer"
        )


def test_when_the_network_fails_it_the_next_start_exports_anew_and_calls_it_again(
    world: Children,
) -> None:
    first = trained(world, "UploadFailsOnce")
    assert first.exit_code() == exit_codes.FAILED, first.tail()
    assert first.of(Failure)[-1].message == (
        "the program failed in after_train: ConnectionError: the registry does not answer"
    )
    assert not first.of(Result)
    second = trained(world, "UploadFailsOnce")
    assert second.exit_code() == exit_codes.DONE, second.tail()
    (result,) = second.of(Result)
    assert (result.step, Path(result.export or "").name) == (STEPS, "2")
    *_, failed, _, done = notes(world, "UploadFailsOnce")
    assert (failed["hook"], done["hook"]) == ("after_train", "after_train")
    assert (failed["exports"], done["exports"]) == (["1"], ["1", "2"])
    assert failed["kernel"] == done["kernel"]


def test_an_error_of_the_programs_in_it_is_told_by_the_programs_own_lines(world: Children) -> None:
    chief = trained(world, "UploadsToNowhere")
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    assert (
        "the program failed in after_train: KeyError: 'registry'" in chief.of(Failure)[-1].message
    )
    own, _, whole = chief.text().partition("The whole traceback:")
    assert 'upload({"elsewhere": model})' in own
    assert 'models["registry"]' in own
    assert "finish.py" not in own
    assert "finish.py" in whole
    assert world.checkpoints("UploadsToNowhere") == [STEPS]
