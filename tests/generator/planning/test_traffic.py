"""What a step at least moves over links."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.generator.conftest import Command
from tests.generator.planning.test_plan_command import DIGITS, PROGRAM

SHAPE = "workers: 4\nps: 2\n"


def variable(name: str, place: int, rows: int, size: int, **more: Any) -> dict[str, Any]:
    shape = [rows, size // 4 // rows]
    of_all = {"name": name, "shape": shape, "dtype": "float32", "bytes": size, "made": place}
    return {**of_all, "trainable": True, **more}


VARIABLES = (
    variable("words/embeddings", 0, 4_000_000, 1_024_000_000),
    variable("dense/kernel", 1, 5_000, 100_000_000),
    variable("norm/mean", 2, 1_000, 120_000, trainable=False),
)


@pytest.fixture
def plan(tf_cluster: Command, tmp_path: Path) -> Any:
    """What `plan` says of a training with these lines, after its title LINKS."""
    (tmp_path / "program.json").write_text(json.dumps({**PROGRAM, "variables": VARIABLES}))

    def told(lines: str, *options: str) -> str:
        done = tf_cluster("plan", "-", "--program", "program.json", *options, stdin=DIGITS + lines)
        return done.stdout.partition("\nLINKS")[2] if not options else done.stdout

    return told


def test_a_step_moves_dense_variables_whole_in_parts_of_each_ps(plan: Any) -> None:
    assert plan(SHAPE).splitlines()[1:4] == [
        "  worker: a step reads 100 MB and sends 100 MB: at least 1.70 s",
        "  ps-0: sends 50.1 MB and gets 50.0 MB for each worker's step",
        "  ps-1: sends 50.0 MB and gets 50.0 MB for each worker's step",
    ]
    assert json.loads(plan(SHAPE, "--format", "json"))["links"] == {
        "workerReads": 100_120_000,
        "workerSends": 100_000_000,
        "ps": [
            {"task": "ps-0", "sends": 50_120_000, "gets": 50_000_000},
            {"task": "ps-1", "sends": 50_000_000, "gets": 50_000_000},
        ],
        "waitsBelowSeconds": 0.0,
        "waitsSeconds": 0.0,
    }


def test_between_graph_a_variable_below_a_gibibyte_is_on_one_link(plan: Any) -> None:
    told = plan(SHAPE + "replication: between-graph\n")
    assert "  ps-1: sends 100 MB and gets 100 MB for each worker's step\n" in told


@pytest.mark.parametrize("replication", ["in-graph", "between-graph"])
def test_a_variable_that_is_whole_is_on_one_link(
    tf_cluster: Command, tmp_path: Path, replication: str
) -> None:
    whole = variable("dense/kernel", 0, 5_000, 100_000_000, whole=True)
    (tmp_path / "program.json").write_text(json.dumps({**PROGRAM, "variables": [whole]}))
    lines = f"{DIGITS}{SHAPE}replication: {replication}\n"
    told = tf_cluster("plan", "-", "--program", "program.json", stdin=lines).stdout
    assert "  ps-0: sends 100 MB and gets 100 MB for each worker's step\n" in told
    assert "  All workers together: at most 1.18 steps/s\n" in told


def test_a_ps_serves_workers_that_step_apart_both_ways_at_once(plan: Any) -> None:
    assert "  All workers together: at most 2.35 steps/s\n" in plan(SHAPE)


def test_workers_in_lockstep_wait_for_the_last_one(plan: Any) -> None:
    alone = plan("workers: 1\nps: 2\nupdate: sync\n")
    assert "  All workers step at once: a step takes at least 1.70 s\n" in alone
    assert "wait for each other" not in alone
    # Four read their halves of one ps' link in turn, then the last one sends all.
    told = plan(SHAPE + "update: sync\n")
    assert "a step takes at least 2.55 s\n" in told
    assert "  4 workers wait for each other for 851 ms of a step at least.\n" in told


@pytest.mark.parametrize(
    ("shape", "seconds"),
    [
        ("workers: 1\nps: 2\n", ""),
        ("workers: 3\nps: 2\n", ""),  # each ps serves two and more that compute nothing
        ("workers: 4\nps: 2\n", ""),
        ("workers: 8\nps: 2\n", "1.70 s"),
        ("workers: 8\nps: 1\n", "5.09 s"),
    ],
)
def test_workers_that_wait_for_each_other_are_told_with_what_helps(
    plan: Any, shape: str, seconds: str
) -> None:
    told = plan(shape)
    number = shape[9]
    words = f"  {number} workers wait for each other if one computes for less than {seconds} in a"
    assert (words in told) == bool(seconds)
    assert ("  More ps, fewer workers or train.microBatches help.\n" in told) == bool(seconds)


def test_more_ps_are_no_help_where_a_variable_is_whole(tf_cluster: Command, tmp_path: Path) -> None:
    whole = variable("dense/kernel", 0, 5_000, 100_000_000, whole=True)
    (tmp_path / "program.json").write_text(json.dumps({**PROGRAM, "variables": [whole]}))
    lines = f"{DIGITS}workers: 4\nps: 2\n"
    told = tf_cluster("plan", "-", "--program", "program.json", stdin=lines).stdout
    assert "  Smaller variables (more ps do not divide one that is whole), fewer workers" in told


@pytest.mark.parametrize(
    "lines", ["strategy: all-reduce\n", SHAPE + "train: {precision: mixed_float16}\n"]
)
def test_what_is_not_known_is_not_told(plan: Any, lines: str) -> None:
    assert plan(lines) == ""


def test_a_model_of_tables_alone_has_no_known_bytes(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "program.json").write_text(json.dumps({**PROGRAM, "variables": VARIABLES[:1]}))
    told = tf_cluster("plan", "-", "--program", "program.json", stdin=DIGITS).stdout
    assert "MEMORY" in told and "LINKS" not in told


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (12_500, "reads 0.0125 MB and sends 0.0125 MB: at least 0.212 ms"),
        (58_900_000, "reads 58.9 MB and sends 58.9 MB: at least 998 ms"),
        (20_000_000_000, "reads 20,000 MB and sends 20,000 MB: at least 339 s"),
    ],
)
def test_figures_of_any_size_are_plain(
    tf_cluster: Command, tmp_path: Path, size: int, told: str
) -> None:
    program = {**PROGRAM, "variables": [variable("kernel", 0, 100, size)]}
    (tmp_path / "program.json").write_text(json.dumps(program))
    assert told in tf_cluster("plan", "-", "--program", "program.json", stdin=DIGITS).stdout
