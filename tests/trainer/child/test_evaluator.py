"""The evaluator's child on the checkpoints of a real training, which is over before it starts."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import ExportBest
from tf_cluster_trainer.errors import ReplacedError
from tf_cluster_trainer.protocol import Evaluated, Failure, Phase, Ready, Result
from tf_cluster_trainer.run_directory import evaluations, evaluator_claim
from tf_cluster_trainer.run_directory.evaluations import Best

from tests.slices import sliced
from tests.support.children import Child, Children, own
from tests.support.waiting import eventually

PROGRAMS = "tests.trainer.child.programs.evaluated"
HERE = str(Path(__file__).parents[3])
STEPS = 1200
# Accuracy 0.65 at the first checkpoint, 0.92 at the last; Adam is in its noise of the end by then.
LEARNS_TO_THE_END = {"name": "SGD", "learningRate": 0.01}

Start = Callable[..., "tuple[Child, Path]"]


@pytest.fixture(scope="module")
def trained(world: Children) -> Child:
    """A chief that trained the digits to the end, with several checkpoints on its way."""
    chief = world.chief(
        steps=STEPS, save_steps=300, keep=9, per_call=50, optimizer=LEARNS_TO_THE_END
    )
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert len(world.checkpoints()) >= 3
    return chief


@pytest.fixture
def start(world: Children, trained: Child) -> Start:
    """Start an evaluator on a copy of that run; `change` is done to the copy first."""
    run_id = f"copy-{len(world.children)}"
    run_dir = world.run_dir(run_id)
    shutil.copytree(world.run_dir(), run_dir)

    def evaluator(
        change: Callable[[Path], Any] = lambda run_dir: None, **settings: Any
    ) -> tuple[Child, Path]:
        change(run_dir)
        place = {"path": HERE, "run_id": run_id, "steps": STEPS}
        return world.start("evaluator", **place, **settings), run_dir

    return evaluator


def saved_steps(run_dir: Path) -> list[int]:
    return sorted(int(path.name[5:]) for path in (run_dir / "checkpoints").glob("ckpt-*"))


def record_of(run_dir: Path) -> dict[str, Any]:
    return dict(json.loads((run_dir / "evaluations.json").read_text()))


def recorded_steps(run_dir: Path) -> list[int]:
    return [one["step"] for one in record_of(run_dir)["evaluations"]]


def points(run_dir: Path) -> dict[int, dict[str, float]]:
    """What TensorBoard shows, by step."""
    found: dict[int, dict[str, float]] = {}
    for file in sorted((run_dir / "eval").iterdir()):
        for event in tf.compat.v1.train.summary_iterator(str(file)):
            for value in event.summary.value:
                found.setdefault(event.step, {})[value.tag] = float(tf.make_ndarray(value.tensor))
    return found


def others(run_dir: Path) -> dict[str, tuple[int, int]]:
    """Size and time of all that is not the evaluator's."""
    return {
        str(path.relative_to(run_dir)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in run_dir.rglob("*")
        if path.relative_to(run_dir).parts[0] not in ("eval", "best", "evaluations.json")
        and path.is_file()
    }


def test_every_checkpoint_is_measured_in_its_order_and_nothing_else_is_touched(
    start: Start, trained: Child
) -> None:
    evaluator, run_dir = start()
    before, steps = others(run_dir), saved_steps(run_dir)
    evaluator.wait_for(Evaluated, lambda one: one.step == steps[-1])
    evaluator.wait_for(Phase, lambda phase: phase.message == "waiting for the next checkpoint")
    assert evaluator.process.poll() is None  # while training may go on

    evaluator.finish(STEPS)

    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert [one.step for one in evaluator.of(Evaluated)] == steps
    record = record_of(run_dir)
    assert (record["version"], record["best"]) == (1, None)
    assert recorded_steps(run_dir) == steps
    # Measured as the chief measured it, and it was learnt meanwhile.
    (result,) = trained.of(Result)
    first, *_, last = [one["metrics"] for one in record["evaluations"]]
    assert last == result.metrics
    assert first["accuracy"] < last["accuracy"]
    drawn = points(run_dir)
    assert sorted(drawn) == steps
    assert drawn[steps[-1]] == {"evaluation/accuracy": pytest.approx(last["accuracy"])}
    assert others(run_dir) == before
    assert not (run_dir / "best").exists()
    assert f"step {STEPS}: accuracy" in evaluator.text()


@pytest.mark.parametrize("mode", sliced(["max", "min"], 1))
def test_the_best_model_is_exported_and_loads(start: Start, mode: str) -> None:
    evaluator, run_dir = start(export_best=f"{mode}:accuracy", keep=1)
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()

    record = record_of(run_dir)
    values = {one["step"]: one["metrics"]["accuracy"] for one in record["evaluations"]}
    best = record["best"]
    wanted = max(values.values()) if mode == "max" else min(values.values())
    assert (best["metric"], best["mode"], best["value"]) == ("accuracy", mode, wanted)
    assert best["step"] == next(step for step, value in values.items() if value == wanted)
    # One version: as many as checkpoints are kept.
    assert [str(path) for path in (run_dir / "best").iterdir()] == [best["export"]]
    assert evaluator.of(Evaluated)[-1].export == best["export"]
    loaded = tf.saved_model.load(best["export"])
    assert int(loaded.step) == best["step"]
    serve = loaded.signatures["serving_default"]
    assert serve(image=tf.zeros((2, 8, 8, 1)))["outputs"].shape == (2, 10)


def test_it_goes_on_after_the_last_step_of_the_record(start: Start) -> None:
    def evaluated_before(run_dir: Path) -> None:
        first = evaluations.Evaluation(saved_steps(run_dir)[-2], 1.0, {"accuracy": 0.25})
        evaluations.write(run_dir, evaluations.Record((first,)))

    evaluator, run_dir = start(evaluated_before)
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert [one.step for one in evaluator.of(Evaluated)] == [STEPS]
    assert recorded_steps(run_dir) == saved_steps(run_dir)[-2:]
    assert record_of(run_dir)["evaluations"][0]["metrics"] == {"accuracy": 0.25}


def test_the_last_checkpoint_is_waited_for_where_a_volume_shows_it_late(start: Start) -> None:
    late = f"checkpoints/ckpt-{STEPS}"
    evaluator, run_dir = start(lambda run_dir: (run_dir / late).rename(run_dir / "late"))
    evaluator.finish(STEPS)
    evaluator.wait_for(Phase, lambda phase: phase.message.startswith("waiting to see the check"))
    (run_dir / "late").rename(run_dir / late)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert recorded_steps(run_dir)[-1] == STEPS


def test_a_checkpoint_that_is_removed_while_it_is_read_is_passed_over(start: Start) -> None:
    def half(run_dir: Path) -> None:
        whole = run_dir / "checkpoints" / f"ckpt-{STEPS}"
        removed = run_dir / "checkpoints" / "ckpt-1"
        shutil.copytree(whole, removed)
        next(removed.glob("variables.data-*")).unlink()

    evaluator, run_dir = start(half)
    evaluator.wait_for(Phase, lambda phase: phase.message == "evaluating the checkpoint of step 1")
    shutil.rmtree(run_dir / "checkpoints" / "ckpt-1")
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert recorded_steps(run_dir) == saved_steps(run_dir)
    assert "the checkpoint of step 1 was removed before it could be evaluated" in evaluator.text()


def test_a_large_checkpoint_that_is_removed_while_its_pages_are_used_is_measured(
    world: Children,
) -> None:
    settings = {
        "module": "tests.trainer.child.programs.held_pages:Removed",
        "path": HERE,
        "run_id": "pages",
        "steps": 60,
    }
    chief = world.chief(save_steps=20, per_call=10, keep=9, **settings)
    chief.wait_for(Ready)
    chief.go()
    assert chief.exit_code() == exit_codes.DONE, chief.tail()
    assert "MiB of the model are pages of the checkpoint's files" in chief.text()
    run_dir, steps = world.run_dir("pages"), world.checkpoints("pages")
    assert len(steps) > 1

    evaluator = world.start("evaluator", export_best="max:table", **settings)
    evaluator.finish(60)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert recorded_steps(run_dir) == steps
    assert world.checkpoints("pages") == []
    (result,) = chief.of(Result)
    record = record_of(run_dir)
    assert record["evaluations"][-1]["metrics"] == pytest.approx(result.metrics, rel=1e-12)
    assert evaluator.text().count("MiB of the model are pages of the checkpoint's files") == len(
        steps
    )
    assert not (run_dir / "held").exists()
    served = tf.saved_model.load(record["best"]["export"])
    assert served.signatures["serving_default"](row=tf.range(3, dtype=tf.int64))


def test_a_damaged_checkpoint_stays_where_it_is_and_as_the_last_one_is_an_error(
    start: Start,
) -> None:
    def damaged(run_dir: Path) -> None:
        for step in (saved_steps(run_dir)[0], STEPS):
            data = next((run_dir / "checkpoints" / f"ckpt-{step}").glob("variables.data-*"))
            data.write_bytes(data.read_bytes()[:100])

    evaluator, run_dir = start(damaged)
    steps = saved_steps(run_dir)
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.FAILED, evaluator.tail()
    assert saved_steps(run_dir) == steps
    assert recorded_steps(run_dir) == steps[1:-1]
    (failure,) = evaluator.of(Failure)
    assert failure.message == (
        f"the last checkpoint, of step {STEPS}, can't be read: it is not evaluated"
    )


def test_the_checkpoints_of_another_attempt_are_left_to_its_evaluator(start: Start) -> None:
    def taken(run_dir: Path) -> None:
        owner = json.loads((run_dir / "owner.json").read_text())
        (run_dir / "owner.json").write_text(json.dumps({**owner, "attempt": "another"}))

    evaluator, run_dir = start(taken)
    evaluator.wait_for(Phase, lambda phase: phase.status == "waiting")
    assert not (run_dir / "evaluations.json").exists()
    own(run_dir)  # by our attempt now
    evaluator.wait_for(Evaluated)
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert recorded_steps(run_dir) == saved_steps(run_dir)


def set_aside(run_dir: Path, steps: list[int]) -> None:
    """Checkpoints that are still to come."""
    (run_dir / "later").mkdir()
    for step in steps:
        name = f"ckpt-{step}"
        (run_dir / "checkpoints" / name).rename(run_dir / "later" / name)


def put_back(run_dir: Path) -> None:
    for path in sorted((run_dir / "later").iterdir()):
        path.rename(run_dir / "checkpoints" / path.name)


def test_of_two_evaluators_of_an_attempt_the_one_before_writes_nothing_more(
    world: Children, start: Start
) -> None:
    # Its node hangs: its pod is replaced, and it comes back.
    best = {"export_best": "max:accuracy", "keep": 1}
    one, run_dir = start(lambda run_dir: set_aside(run_dir, saved_steps(run_dir)[1:]), **best)
    evaluator_claim.post(run_dir, "test", "pod-1")
    (first,) = saved_steps(run_dir)
    one.wait_for(Evaluated)
    one.signal(signal.SIGSTOP)
    put_back(run_dir)
    steps = saved_steps(run_dir)

    evaluator_claim.post(run_dir, "test", "pod-2")
    place = {"path": HERE, "run_id": run_dir.name, "steps": STEPS}
    two = world.start("evaluator", pod="pod-2", **place, **best)
    two.finish(STEPS)
    assert two.exit_code() == exit_codes.DONE, two.tail()
    assert recorded_steps(run_dir) == steps
    record = record_of(run_dir)

    one.signal(signal.SIGCONT)
    eventually(
        "it goes on or ends", lambda: one.process.poll() is not None or len(one.of(Evaluated)) > 1
    )
    assert record_of(run_dir) == record
    assert one.exit_code() == exit_codes.NOT_OWNER, one.tail()
    assert "pod pod-2 is this attempt's evaluator now" in one.text()
    assert [one.step for one in one.of(Evaluated)] == [first]
    assert Path(record["best"]["export"]).is_dir()


def test_a_late_write_of_the_evaluator_before_costs_no_evaluation(start: Start) -> None:
    # Its rename was under way when the next one took its place.
    evaluator, run_dir = start(lambda run_dir: set_aside(run_dir, saved_steps(run_dir)[1:]))
    (first,) = saved_steps(run_dir)
    evaluator.wait_for(Evaluated)
    late = evaluations.Evaluation(77, 1.0, {"accuracy": 0.25})
    evaluations.write(run_dir, evaluations.Record((late,)))
    put_back(run_dir)
    evaluator.wait_for(Evaluated, lambda one: one.step == STEPS)
    assert recorded_steps(run_dir) == [77, *saved_steps(run_dir)]

    evaluations.write(run_dir, evaluations.Record((late,)))
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    assert recorded_steps(run_dir) == [77, *saved_steps(run_dir)]
    assert first in recorded_steps(run_dir)


def test_a_value_that_is_no_number_is_recorded_as_unknown_and_never_the_best(
    start: Start,
) -> None:
    evaluator, run_dir = start(module=f"{PROGRAMS}:NotANumber", export_best="min:loss")
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    record = record_of(run_dir)
    assert all(one["metrics"]["loss"] is None for one in record["evaluations"])
    assert record["best"] is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (
            {"export_best": "max:acuracy"},
            "evaluator.exportBest.metric is acuracy, which evaluate does not give; its metrics: "
            "accuracy",
        ),
        ({"module": f"{PROGRAMS}:Unmeasured"}, f"{PROGRAMS}:Unmeasured defines no evaluate"),
        (
            {"module": f"{PROGRAMS}:Breaks"},
            "the program failed in evaluate: KeyError: 'no such file of examples'",
        ),
        (
            {"flags": {"units": 7}},
            "the model's variable dense/kernel is float32[256, 7], but float32[256, 64] in the "
            "checkpoint of step",
        ),
    ],
    ids=["metric", "no evaluate", "evaluate raises", "another model"],
)
def test_what_no_retry_can_help_is_exit_2_and_named(
    start: Start, settings: dict[str, Any], words: str
) -> None:
    evaluator, run_dir = start(**settings)
    assert evaluator.exit_code() == exit_codes.CONFIG, evaluator.tail()
    (failure,) = evaluator.of(Failure)
    assert words in failure.message
    assert not (run_dir / "evaluations.json").exists()


def test_sigterm_ends_it_at_once(start: Start) -> None:
    evaluator, _ = start()
    evaluator.wait_for(Evaluated)
    evaluator.signal(signal.SIGTERM)
    assert evaluator.exit_code(deadline=10) == exit_codes.STOPPED


WANTED = ExportBest("loss", "min")
HALF = Best("loss", "min", 10, 0.5, "/best/1")


@pytest.mark.parametrize(
    ("value", "best", "wanted", "better"),
    [
        (0.4, None, WANTED, True),
        (0.4, HALF, WANTED, True),
        (0.5, HALF, WANTED, False),
        (0.6, HALF, WANTED, False),
        (0.6, HALF, ExportBest("loss", "max"), True),
        (float("nan"), None, WANTED, False),
        (float("-inf"), HALF, WANTED, False),
    ],
)
def test_the_first_of_the_best_values_stays(
    value: float, best: Best | None, wanted: ExportBest, better: bool
) -> None:
    assert evaluations.is_better(value, best, wanted) is better


def test_who_is_asked_last_keeps_the_record_that_is_there(tmp_path: Path) -> None:
    record = evaluations.Record((evaluations.Evaluation(10, 1.0, {"loss": 0.5}),))
    evaluations.write(tmp_path, record)
    asked: list[int] = []

    def no_longer() -> None:
        asked.append(len(list(tmp_path.glob(".*.tmp"))))
        raise ReplacedError

    with pytest.raises(ReplacedError):
        evaluations.write(tmp_path, evaluations.Record(), no_longer)
    assert asked == [1]  # when all is on disk but for its name
    assert evaluations.read(tmp_path) == record
    assert [path.name for path in tmp_path.iterdir()] == ["evaluations.json"]


def test_a_record_is_read_back_and_another_best_asks_for_all_again(tmp_path: Path) -> None:
    record = evaluations.Record()
    assert evaluations.read(tmp_path) == record
    assert record.evaluated(None) == -1
    for step, time in ((20, 1.0), (10, 2.0), (20, 3.0)):
        record = record.plus(evaluations.Evaluation(step, time, {"loss": 0.5}), HALF)
    evaluations.write(tmp_path, record)
    assert evaluations.read(tmp_path) == record
    assert [(one.step, one.time) for one in record.evaluations] == [(10, 2.0), (20, 3.0)]
    assert [record.evaluated(wanted) for wanted in (None, WANTED)] == [20, 20]
    for other in (ExportBest("loss", "max"), ExportBest("accuracy", "max")):
        assert record.evaluated(other) == -1
        assert record.best_by(other) is None
