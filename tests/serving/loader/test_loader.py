"""What our trainer exports loads through TensorFlow's C API, which is TensorFlow Serving's loader.

Nothing in that process is Python's TensorFlow. Each export is asked with the request that it
carries, by the library of our TensorFlow and by that of one minor version before.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.child.exporting import Exporter
from tf_cluster_trainer.program.trial import build_model, run_trial
from tf_cluster_trainer.protocol import Evaluated, Placement, Result
from tf_cluster_trainer.serving.session import installed_library

from tests.serving.loader import older, programs
from tests.slices import sliced
from tests.support.children import DIGITS, Children
from tests.support.trainings import context
from tests.tied import tied_to_us
from tests.trainer.strategies.ways import COMBINATIONS, trained, two_workers

# The older library is fetched once.
pytestmark = pytest.mark.timeout(900)

Ask = Callable[[Path], Any]
STEPS = 20
WIDE = {"units": 1024}  # dense/kernel is 1 MiB: in-graph in float32 each of two ps has a part
IN_PARTS = ("parameter-server-in-graph-async", "parameter-server-in-graph-sync")
# Between two versions of TensorFlow: they may add up in another order.
APART = 1e-5


@contextmanager
def loader(library: Path) -> Iterator[Ask]:
    """A process that loads every version that it is told."""
    command = tied_to_us(sys.executable, "-m", "tests.serving.loader.answer", str(library))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin and process.stdout
        asks, says = process.stdin, process.stdout

        def ask(path: Path) -> Any:
            print(path, file=asks, flush=True)
            return json.loads(says.readline())

        yield ask


@pytest.fixture(scope="module")
def loaders() -> Iterator[dict[str, Ask]]:
    """By the version of their TensorFlow: ours, and the one before."""
    with ExitStack() as stack:
        yield {
            tf.__version__: stack.enter_context(loader(installed_library())),
            "2.20.0": stack.enter_context(loader(older.library())),
        }


def answers_as_recorded(loaders: dict[str, Ask], path: Path) -> Any:
    """Ask both; what ours says."""
    found = {}
    for version, ask in loaders.items():
        found[version] = said = ask(path)
        assert (said["tensorflow"], said["written"]) == (version, tf.__version__)
        assert not said["python"]
        assert said["difference"] <= (0 if version == tf.__version__ else APART), said
    return found[tf.__version__]


@pytest.mark.parametrize("name", programs.ALL)
def test_what_a_program_exports_loads_and_answers_the_same(
    loaders: dict[str, Ask], tmp_path: Path, name: str
) -> None:
    program, ctx = programs.ALL[name](), context(tmp_path)
    features = run_trial(program, ctx).features
    model = build_model(program, ctx, features)
    exporter = Exporter(program, ctx, features)
    path = exporter.export(model, 7, {}, tmp_path / "export", lambda: None)

    said = answers_as_recorded(loaders, path)

    assert said["rows"] == [1]
    more = ["sentences"] if name == "strings-and-tables" else []
    assert said["signatures"] == sorted(["serving_default", *more])


# A combination and a precision.
TRAININGS = (
    *((name, "float32") for name in COMBINATIONS),
    ("parameter-server-in-graph-async", "mixed_bfloat16"),
)


@pytest.mark.parametrize(
    ("combination", "precision"),
    sliced([pytest.param(*one, id="-".join(one)) for one in TRAININGS], 1),
)
def test_what_a_training_exports_loads_at_its_end_and_as_its_best(
    loaders: dict[str, Ask], tmp_path: Path, combination: str, precision: str
) -> None:
    with two_workers(combination, tmp_path) as (world, settings):
        told = {"module": DIGITS, "flags": WIDE, "steps": STEPS, "precision": precision, **settings}
        client = trained(world, **told)
        assert client.exit_code() == exit_codes.DONE, client.tail()
        (result,) = client.of(Result)
        placed = {name for one in client.of(Placement) for name in one.devices}
        is_in_parts = combination in IN_PARTS and precision == "float32"
        assert ("dense/kernel/part_1" in placed) == is_in_parts, placed
        best = best_of(world, told)
        # Whatever the strategy has done to the process, the data is read and the model is asked.
        assert "carries no request" not in client.text()

    for path in (result.export, best):
        said = answers_as_recorded(loaders, Path(str(path)))
        assert said["rows"] == [1]


def best_of(world: Children, told: dict[str, Any]) -> str:
    """What an evaluator exports of the run, which is over."""
    evaluator = world.start("evaluator", export_best="max:accuracy", **told)
    evaluator.finish(STEPS)
    assert evaluator.exit_code() == exit_codes.DONE, evaluator.tail()
    best = evaluator.of(Evaluated)[-1].export
    assert best and "/best/" in best
    return best
