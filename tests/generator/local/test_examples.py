"""Every example of values-examples trains: its own params file, the real trainer, few steps."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tests.generator.conftest import ROOT, RunParams
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import ended_well, progress
from tests.programs import idx
from tests.slices import in_turn, sliced

EXAMPLES = ROOT / "values-examples"
# What a run of so many steps has to reach, by the metric that the example's `evaluate` gives.
TRAINED: dict[str, tuple[int, str, Callable[[float], bool]]] = {
    "mnist": (300, "accuracy", lambda accuracy: accuracy > 0.9),
    "mnist-gpus": (60, "accuracy", lambda accuracy: accuracy > 0.8),
    "recommender": (600, "rmse", lambda rmse: rmse < 0.9),  # 0.97 for the mean rating
    "text": (100, "perplexity", lambda perplexity: perplexity < 400),  # of 2,000 words
}
SCRIPTS = {"script": ("--steps=2000", "--steps=300")}
# test_run_with_the_trainer.py has the digits; the other two show keys, and name programs of others.
ELSEWHERE = {"digits", "everything", "shared-storage"}

Start = Callable[..., LocalRunInTest]


@pytest.fixture
def start(run_params: RunParams, tmp_path: Path) -> Start:
    """Run the params file of an example."""

    def run(name: str, *options: str, change: tuple[str, str] = ("", "")) -> LocalRunInTest:
        text = (EXAMPLES / f"{name}.params.yaml").read_text()
        assert change[0] in text
        shutil.copytree(EXAMPLES / "scripts", tmp_path / "scripts")
        return run_params(text.replace(*change), *options)

    return run


def test_every_example_is_run_somewhere() -> None:
    names = {file.name.partition(".")[0] for file in EXAMPLES.glob("*.params.yaml")}

    assert names == {*TRAINED, *SCRIPTS, *ELSEWHERE}


def test_the_readme_lists_every_example() -> None:
    table = (ROOT / "README.md").read_text().partition("## Examples\n")[2].partition("\n## ")[0]

    listed = re.findall(r"^\| \[\S+\]\(values-examples/(\S+)\)", table, re.MULTILINE)

    params = {file.name for file in EXAMPLES.glob("*.params.yaml")}
    values = {file.name for file in EXAMPLES.glob("*.values.yaml")}
    by_hand = {name for name in values if name.replace(".values.", ".params.") not in params}
    assert sorted(listed) == sorted(params | by_hand)


@pytest.mark.parametrize("name", sliced(list(TRAINED), 1))
def test_an_example_learns(start: Start, tmp_path: Path, name: str) -> None:
    steps, metric, good = TRAINED[name]
    idx.write(tmp_path / "data/mnist")

    run = start(name, "--steps", str(steps), "--data", str(tmp_path / "data"))

    assert run.wait() == 0, run.stderr
    assert good(progress(run, name)["metrics"][metric]), run.stdout
    assert (run.folder / f"runs/{name}/1/export/1/saved_model.pb").is_file()
    ended_well(run, name)


@in_turn(1, of=4)
@pytest.mark.parametrize("name", SCRIPTS)
def test_an_example_of_a_script_ends(start: Start, name: str) -> None:
    run = start(name, change=SCRIPTS[name])

    assert run.wait() == 0, run.stderr
    called = yaml.safe_load((EXAMPLES / f"{name}.params.yaml").read_text())["name"]
    log = (run.folder / f"runs/{called}/logs/worker-0.log").read_text()
    assert re.search(r"step \d+, loss 0\.00", log)
    ended_well(run, called)


def test_a_user_without_the_files_is_told_what_to_copy_where(start: Start, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    no_mirror = ("train:", "flags: {mirror: ''}\ntrain:")

    run = start("mnist", "--data", str(tmp_path / "empty"), change=no_mirror)

    assert run.wait() == 2
    assert "copy train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, " in run.stderr
    assert f"into {tmp_path}/empty/mnist, packed or not" in run.stderr
