"""Arguments as each task has them: with the values of $(NAME) there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.generator.program.test_program import found


def test_a_task_of_one_type_alone_may_refuse_an_argument(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\n"
        "p.add_argument('--job', choices=['ps', 'worker'])\np.parse_args()\n"
    )
    program = "{script: train.py, args: [--job=$(JOB_NAME)], source: {files: [train.py]}}"

    assert found(tmp_path, program, "replication: between-graph\n") == []
    assert found(tmp_path, program) == [
        'error TFC513: in the chief, --job is "chief", not "ps" or "worker" (train.py:3)'
    ]


@pytest.mark.parametrize(
    ("choices", "roles"),
    [
        (["worker"], 'in the ps, --job is "ps", not "worker"'),
        (["ps"], 'in the worker, --job is "worker", not "ps"'),
        (["x"], '--job is "worker", not "x"'),
        (["ps", "worker"], ""),
    ],
)
def test_a_finding_names_the_tasks_that_refuse_an_argument(
    choices: list[str], roles: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\n"
        f"p.add_argument('--job', choices={choices})\np.parse_args()\n"
    )
    program = (
        "{script: train.py, args: [--job=$(JOB_NAME)], source: {files: [train.py]}, ps: script}"
    )

    told = found(tmp_path, program, "replication: between-graph\n")

    assert told == ([f"error TFC513: {roles} (train.py:3)"] if roles else [])


@pytest.mark.parametrize(
    "code",
    [
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int)\n"
        "p.add_argument('--d', required=True)\np.parse_args()\n",
        "from absl import app, flags\nflags.DEFINE_integer('n', 1, '')\n"
        "flags.DEFINE_string('d', None, '', required=True)\napp.run(print)\n",
    ],
)
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (["--nn=3", "--d=$(DATADIR)"], ["TFC322", "TFC512"]),
        (["--n=x", "--d=$(DATADIR)"], ["TFC322", "TFC513"]),
        (["--n=$(X)", "--d", "$(DATADIR)", "--oops"], ["TFC322", "TFC322", "TFC512"]),
        (["--dd=$(X)"], ["TFC322", "TFC512"]),
        (["--n=$TASK_INDEX", "--d=x"], ["TFC513"]),
        (["--n=3", "--d=$DATA_DIR"], ["TFC413"]),
        (["--n", "$(X)", "$(Y)", "--$(Z)"], ["TFC322", "TFC322", "TFC322"]),
        (["--dd=$$(X)"], ["TFC512"]),
    ],
)
def test_a_name_that_is_not_known_hides_no_other_mistake(
    code: str, args: list[str], told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(code)
    program = f"{{script: train.py, args: {args!r}, source: {{files: [train.py]}}}}"

    lines = found(tmp_path, program)

    assert sorted(line.split()[1].rstrip(":") for line in lines) == told
