"""Lookup tables in `dataset`: whose they are, what they find, and how long they live."""

from __future__ import annotations

import re
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.protocol import Failure, Result, Serving
from tf_cluster_trainer.strategies.in_graph import cluster

from tests.slices import sliced
from tests.trainer.child.programs import text
from tests.trainer.child.programs.filled_tables import FILLED_BY
from tests.trainer.child.programs.text import Lookup, Text, TextFlags
from tests.trainer.child.world import Child, World, let_go
from tests.trainer.strategies.in_graph.test_sync import HERE, context
from tests.trainer.strategies.ways import COMBINATIONS, two_workers

PROGRAMS = "tests.trainer.child.programs"
SAYS = f"{PROGRAMS}.filled_tables:SaysWhoFilledItsTable"
TEXT = f"{PROGRAMS}.text:Text"
STEPS, BATCH = 200, 128
# In `dataset` one table of each kind, of tensors, of a file, and two layers; in the model a layer.
TRAINED = [
    (combination, lookup)
    for combination in COMBINATIONS
    for lookup in ("vocabulary", "file", "strings", "vectorization", "model")
    if lookup != "model" or not combination.startswith("parameter-server-between-graph")
]
WORDS_OF_A_LARGE_TABLE = 200_000


def started(world: World, **settings: Any) -> tuple[Child, list[Child]]:
    """The client and the workers of a training that may begin."""
    if not world.has_chief:
        world.serve("ps")
        workers = world.train(**settings)
        return workers[0], workers
    tasks = world.serve()
    chief = world.chief(**settings)
    let_go([chief])
    return chief, [tasks[f"worker-{index}"] for index in range(world.workers)]


def who_filled(child: Child) -> set[int]:
    """The processes that filled the tables in which this one looked something up."""
    child.wait_until_it_says(FILLED_BY)
    return {int(pid) for pid in re.findall(f'{FILLED_BY} "?(\\d+)', child.text())}


@pytest.mark.parametrize("combination", sliced(list(COMBINATIONS), 2))
def test_every_worker_looks_up_in_a_table_of_its_own(tmp_path: Path, combination: str) -> None:
    """Not in one of the chief's, which each example would have to be sent to and back."""
    with two_workers(combination, tmp_path) as (world, settings):
        _, workers = started(world, module=SAYS, path=HERE, steps=1_000_000, **settings)
        for worker in workers:
            assert who_filled(worker) == {worker.process.pid}


def test_a_worker_that_comes_back_fills_a_table_of_its_own(tmp_path: Path) -> None:
    with two_workers("parameter-server-in-graph-async", tmp_path) as (world, settings):
        told = {"module": SAYS, "path": HERE, "steps": 1_000_000, **settings}
        _, workers = started(world, **told)
        assert who_filled(workers[1])
        workers[1].signal(signal.SIGKILL)
        workers[1].exit_code()
        successor = world.start("worker", 1, **told)
        successor.wait_for(Serving)
        assert who_filled(successor) == {successor.process.pid}


@pytest.mark.parametrize("update", sliced(["async", "sync"], 1))
def test_a_table_that_is_kept_from_before_the_cluster_was_connected_is_exit_2(
    world: World, update: str
) -> None:
    """Its workers would be lost, come back and be lost for ever."""
    told = {"module": f"{PROGRAMS}.filled_tables:KeepsItsTable", "path": HERE, "update": update}
    chief = world.chief(run_id=f"kept-{update}", **told)
    let_go([chief])
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    message = chief.of(Failure)[-1].message
    assert message.startswith("dataset uses a table that was made before the cluster was connected")


def test_of_a_table_that_is_made_inside_a_function_it_is_said_where_to_make_it(
    world: World,
) -> None:
    module = f"{PROGRAMS}.filled_tables:MakesItsTableInAFunction"
    chief = world.chief(run_id="inside", module=module, path=HERE)
    let_go([chief])
    chief.wait_until_it_says("make the table in dataset itself and use it there")
    chief.end()


@pytest.mark.parametrize(
    ("combination", "lookup"),
    sliced([pytest.param(*one, id="-".join(one)) for one in TRAINED], 2),
)
def test_sentences_are_told_apart_by_words_that_are_looked_up(
    tmp_path: Path, combination: str, lookup: str
) -> None:
    text.write(tmp_path / "data")
    told = {"module": TEXT, "path": HERE, "flags": {"lookup": lookup}}
    told |= {"optimizer": {"name": "Adam", "learningRate": 0.01}}
    with two_workers(combination, tmp_path) as (world, settings):
        client, _ = started(world, steps=STEPS, batch=BATCH, **told, **settings)
        assert client.exit_code() == exit_codes.DONE, client.tail()
        assert client.of(Result)[0].metrics["accuracy"] >= 0.9


def looked_up(tmp_path: Path, lookup: Lookup) -> Any:
    """What workers would run for the text's examples."""
    ctx = replace(context(tmp_path), flags=TextFlags(lookup))
    return cluster.for_workers(
        lambda: Text().dataset(ctx, tf.distribute.InputContext()).batch(64)
    ).get_concrete_function()


@pytest.mark.parametrize(
    "lookup",
    ["hash", "vocabulary", "file", "strings", "strings-file", "integers", "vectorization"],
)
def test_a_worker_is_sent_no_table_and_finds_in_its_own_what_the_records_say(
    tmp_path: Path, lookup: Lookup
) -> None:
    text.write(tmp_path, trained=256, held_out=0)
    function = looked_up(tmp_path, lookup)
    assert [sent for sent in function.captured_inputs if sent.dtype == tf.resource] == []
    rows = [rows for rows, _ in looked_up(tmp_path, "none")()]
    for _ in range(2):  # as by two workers, or by one that came back
        found = [rows for rows, _ in function()]
        # Keras' layers keep rows for themselves before the vocabulary's.
        (shift,) = {int(value) for value in np.unique(np.subtract(found, rows))}
        assert 0 <= shift <= text.MORE_ROWS


@pytest.mark.parametrize(
    "kind", [tf.lookup.StaticHashTable, tf.compat.v1.lookup.StaticHashTable], ids=["v2", "v1"]
)
def test_a_table_serves_the_functions_inside_the_data_set(kind: Any) -> None:
    """A map inside a map, and the branches of a condition."""

    def make() -> Any:
        keys = tf.constant(["a", "b"])
        filled = tf.lookup.KeyValueTensorInitializer(keys, tf.constant([10, 20]))
        table = kind(filled, default_value=-1)

        def inside(at: Any) -> Any:
            words = tf.data.Dataset.from_tensors(tf.gather(["a", "b", "c"], at))
            return words.map(
                lambda word: tf.cond(at > 0, lambda: table.lookup(word), lambda: table[word] + 1)
            )

        return tf.data.Dataset.range(3).flat_map(inside)

    function = cluster.for_workers(make).get_concrete_function()
    assert [sent for sent in function.captured_inputs if sent.dtype == tf.resource] == []
    assert [int(found) for found in function()] == [11, 20, -1]


def test_a_table_ends_with_the_data_set_it_was_made_for() -> None:
    """A worker that the chief reconnects gets a new data set, whose table is a new one."""

    def make() -> Any:
        keys = tf.range(WORDS_OF_A_LARGE_TABLE, dtype=tf.int64)
        table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(keys, keys), default_value=-1
        )
        return tf.data.Dataset.from_tensors(tf.constant(7, tf.int64)).map(table.lookup)

    function = cluster.for_workers(make).get_concrete_function()

    def held() -> int:
        assert [int(found) for found in function()] == [7]
        return resident()

    first, second = resident(), held()
    more = [held() for _ in range(20)][-1] - second
    # One table takes what the first call added; twenty would be twenty times that.
    assert more < 3 * max(second - first, 1 << 22), (first, second, more)


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
