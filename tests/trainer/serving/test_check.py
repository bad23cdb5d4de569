"""`tf-trainer check-exports`: what is whole, what is not and why, and how it says so."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tf_cluster_trainer.serving.check import WrongPlaceError, check, checked
from tf_cluster_trainer.serving.compare import TOLERANCE, OtherAnswerError, difference
from tf_cluster_trainer.serving.look import Version

from tests.trainer.serving.exports import (
    DATA,
    RECORD,
    WARM_UP,
    another,
    cut,
    made,
    of_sixteen,
    put,
    without,
)

TRAINER = "from tf_cluster_trainer.supervisor.main import main; main()"
VERSION_BYTES = tf.__version__.encode()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A version; nobody changes it."""
    return made(tmp_path_factory.mktemp("made"))


def copy(whole: Path, directory: Path, name: str = "1") -> Path:
    return Path(shutil.copytree(whole, directory / name))


def run(*arguments: object, **environment: str) -> tuple[int, Any]:
    """The exit code of `tf-trainer`, and the document in its last line."""
    done = subprocess.run(
        (sys.executable, "-c", TRAINER, *map(str, arguments)),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_the_versions_are_told_newest_first_with_what_clients_need(
    whole: Path, tmp_path: Path
) -> None:
    copy(whole, tmp_path, "9")
    copy(whole, tmp_path, "10")
    (tmp_path / "best-of-all").mkdir()
    (tmp_path / ".tmp-1234").mkdir()
    message = tmp_path / ".message"
    message.touch()

    code, told = run("check-exports", tmp_path, TF_CLUSTER_TERMINATION_LOG=str(message))

    assert code == 0
    assert json.loads(message.read_text()) == told
    assert told["version"] == 1
    assert [one["number"] for one in told["exports"]] == [10, 9]
    assert told["others"] == [
        {
            "name": "best-of-all",
            "why": "a server looks for names that are a number, and nothing else",
        }
    ]
    first = told["exports"][0]
    assert first == {
        "number": 10,
        "bytes": sum(one.stat().st_size for one in whole.rglob("*") if one.is_file()),
        "tensorflow": tf.__version__,
        "step": 7,
        "metrics": {"loss": 0.5},
        "signatures": {
            "serving_default": {
                "inputs": {"numbers": {"dtype": "float32", "shape": [None, 4]}},
                "outputs": {"outputs": {"dtype": "float32", "shape": [None, 1]}},
            }
        },
        "warmUp": [1, 8],
        "difference": 0.0,
        "request": json.loads((whole / RECORD).read_text())["request"],
        "note": None,
        "problem": None,
    }


@pytest.mark.parametrize(
    ("break_it", "problem"),
    [
        (lambda version: [shutil.rmtree(version), version.mkdir()], "it is empty"),
        (lambda version: [shutil.rmtree(version), version.touch()], "it is no directory"),
        (without("saved_model.pb"), "it has no saved_model.pb: it is half copied, or no SavedM"),
        (cut("saved_model.pb"), "its saved_model.pb can't be read (a message that ends too soon"),
        (without("variables"), "it has no variables/variables.index: it is half copied"),
        (without(DATA), f"it is half copied, or damaged: TensorFlow {tf.__version__} can't load"),
        (cut(DATA), f"it is half copied, or damaged: TensorFlow {tf.__version__} can't load it: "),
        (cut(WARM_UP), f"{WARM_UP} has a record that ends too soon: it is half copied"),
        (cut(RECORD), f"{RECORD} is no JSON: "),
        (put(RECORD, b'"step"', b'"steps"'), f"{RECORD}: /: 'step' is a required property"),
        (put(RECORD, b'"outputs": {"dtype"', b'"other": {"dtype"'), "it answers otherwise than"),
        (put(RECORD, b'"values": [[', b'"values": [[1'), "it answers otherwise than recorded: by"),
        (another, "it has no signature serving_default, which clients ask for; its sig"),
        (
            put("saved_model.pb", VERSION_BYTES, b"2.99" + VERSION_BYTES[4:]),
            f"it was exported by TensorFlow 2.99.0, and this is {tf.__version__}: take a server",
        ),
    ],
)
def test_what_is_wrong_with_a_version_is_its_problem(
    whole: Path, tmp_path: Path, break_it: Callable[[Path], Any], problem: str
) -> None:
    version = copy(whole, tmp_path)
    break_it(version)
    assert problem in (checked(version, TOLERANCE).problem or "")


def test_a_name_with_zeros_is_a_problem(whole: Path, tmp_path: Path) -> None:
    assert "call it 3" in (checked(copy(whole, tmp_path, "003"), TOLERANCE).problem or "")


def test_a_difference_within_the_tolerance_is_told_and_no_problem(
    whole: Path, tmp_path: Path
) -> None:
    version = copy(whole, tmp_path)
    told = json.loads((version / RECORD).read_text())
    tensor = told["answer"]["outputs"]["outputs"]
    tensor["values"][0][0] += 0.01
    (version / RECORD).write_text(json.dumps(told))
    apart = checked(version, 0.1)
    assert apart.problem is None
    assert apart.difference == pytest.approx(0.01, rel=1e-3)
    assert "more than 0.001" in (checked(version, 0.001).problem or "")


def test_a_fixed_batch_is_a_note_and_no_problem(whole: Path, tmp_path: Path) -> None:
    version = copy(whole, tmp_path)
    of_sixteen(version)
    seen = checked(version, TOLERANCE)
    assert seen.note == "a fixed batch dimension: its input x takes 16 rows, no other"
    assert (seen.problem, seen.difference, seen.step) == (None, None, None)


def test_a_place_without_versions_is_exit_2_with_what_to_do(whole: Path, tmp_path: Path) -> None:
    code, told = run("check-exports", tmp_path / "export")
    assert code == 2
    assert "is not there: an export comes when a training is done" in told["error"]
    for place, number, says in (
        (tmp_path, None, "has no version: a server looks for directories called by a number"),
        (whole, None, "is a version itself: name the directory above"),
        (whole.parent, 5, "has no version 5; its versions: 1"),
    ):
        with pytest.raises(WrongPlaceError) as refused:
            check(place, number, TOLERANCE)
        assert says in str(refused.value)


def test_answers_have_a_distance_where_they_can_have_one() -> None:
    def answer(*values: Any) -> dict[str, Any]:
        return {"y": tf.constant(values).numpy()}

    nan = float("nan")
    assert difference(answer(1.0, nan), answer(1.0, nan)) == 0
    assert difference(answer(1000.0), answer(1001.0)) == pytest.approx(1e-3)
    assert difference(answer(0.0), answer(1e-3)) == pytest.approx(1e-3)
    assert difference(answer("a"), answer("a")) == 0
    for one, other in (
        (answer(1.0), answer(nan)),
        (answer(1.0), answer(1.0, 2.0)),
        (answer("a"), answer("b")),
        (answer(1), answer(2)),
        (answer(1.0), {"z": answer(1.0)["y"]}),
    ):
        with pytest.raises(OtherAnswerError):
            difference(one, other)


@pytest.mark.parametrize(
    ("number", "bad", "seen"),
    [
        (None, (), [9]),
        (None, (9,), [9, 7]),
        (None, (9, 7, 2), [9, 7, 2]),
        (7, (), [7]),
        (7, (7,), [9, 7]),
        (2, (2, 9), [9, 7, 2]),
        (5, (), []),
    ],
)
def test_it_looks_no_further_than_the_first_good_one(
    number: int | None, bad: tuple[int, ...], seen: list[int], tmp_path: Path, monkeypatch: Any
) -> None:
    for each in (2, 7, 9):
        (tmp_path / str(each)).mkdir()
    looked: list[int] = []

    def look(path: Path, _: float) -> Version:
        looked.append(int(path.name))
        return Version(looked[-1], problem="bad" if looked[-1] in bad else None)

    monkeypatch.setattr("tf_cluster_trainer.serving.check.checked", look)
    told = check(tmp_path, number, TOLERANCE, until_good=True)
    assert sorted(looked, reverse=True) == seen
    assert [one["number"] for one in told["exports"]] == seen
    assert told["unseen"] == [one for one in (9, 7, 2) if one not in seen]
    assert looked[:1] == ([number or 9] if seen else [])


def test_the_command_stops_at_the_first_good_one(whole: Path, tmp_path: Path) -> None:
    for name in ("1", "2", "3"):
        copy(whole, tmp_path, name)
    (tmp_path / "3" / "saved_model.pb").unlink()
    code, told = run("check-exports", tmp_path, "--until-good")
    assert (code, [one["number"] for one in told["exports"]], told["unseen"]) == (0, [3, 2], [1])
