"""Lookup tables in `dataset`: whose they are, what they find, and how long they live."""

from __future__ import annotations

import gc
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tf_keras
from tf_cluster_trainer import Context, exit_codes
from tf_cluster_trainer.program import tables
from tf_cluster_trainer.program.evaluate import measure
from tf_cluster_trainer.protocol import Failure, Result, Serving
from tf_cluster_trainer.strategies.in_graph.cluster import for_workers

from tests.slices import sliced
from tests.support.children import Child, Children, let_go
from tests.support.trainings import HERE, context
from tests.trainer.child.programs import text
from tests.trainer.child.programs.filled_tables import FILLED_BY
from tests.trainer.child.programs.text import Lookup, Text, TextFlags
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


def started(world: Children, **settings: Any) -> tuple[Child, list[Child]]:
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


@pytest.mark.parametrize("combination", sliced(list(COMBINATIONS), 1))
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
    world: Children, update: str
) -> None:
    """Its workers would be lost, come back and be lost for ever."""
    told = {"module": f"{PROGRAMS}.filled_tables:KeepsItsTable", "path": HERE, "update": update}
    chief = world.chief(run_id=f"kept-{update}", **told)
    let_go([chief])
    assert chief.exit_code() == exit_codes.CONFIG, chief.tail()
    message = chief.of(Failure)[-1].message
    assert message.startswith("dataset uses a table that was made before the cluster was connected")


def test_of_a_table_that_is_made_inside_a_function_it_is_said_where_to_make_it(
    world: Children,
) -> None:
    module = f"{PROGRAMS}.filled_tables:MakesItsTableInAFunction"
    chief = world.chief(run_id="inside", module=module, path=HERE)
    let_go([chief])
    chief.wait_until_it_says("make the table in dataset itself and use it there")
    chief.end()


@pytest.mark.parametrize(
    ("combination", "lookup"),
    sliced([pytest.param(*one, id="-".join(one)) for one in TRAINED], 1),
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
    return for_workers(
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

    function = for_workers(make).get_concrete_function()
    assert [sent for sent in function.captured_inputs if sent.dtype == tf.resource] == []
    assert [int(found) for found in function()] == [11, 20, -1]


def filled_from_another() -> Any:
    """With what is found in that, and its size."""
    words = tf.constant(["a", "b"])
    numbers = tf.constant([10, 20], tf.int64)
    first = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, numbers), -1)
    found = first.lookup(words) + first.size()
    second = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(words, found), -1)
    return tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(second.lookup)


def filled_by_hand() -> Any:
    """In two parts, of which the second changes the first; and one key is taken out again."""
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a", "b", "c"]), tf.constant([1, 22, 3], tf.int64))
    table.insert(tf.constant(["a"]), tf.constant([12], tf.int64))
    table.remove(tf.constant(["c"]))
    return tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(table.lookup)


@pytest.mark.parametrize("make", [filled_from_another, filled_by_hand])
def test_tables_are_filled_in_the_order_in_which_the_data_set_made_them(
    make: Callable[[], Any],
) -> None:
    """Between-graph, where a worker's graph is of the 1.x style, as elsewhere."""
    expected = [12, 22, -1]
    assert [int(found) for found in make()] == expected
    assert [int(found) for found in for_workers(make)()] == expected
    for _ in range(20):  # were they filled at once, it would be wrong now and then
        with tf.Graph().as_default() as graph, tf.compat.v1.Session() as session:
            batches = tf.compat.v1.data.make_initializable_iterator(make().batch(3))
            following = batches.get_next()
            for filling in tables.fillings(graph):
                session.run(filling)
            session.run(batches.initializer)
            assert session.run(following).tolist() == expected


def test_a_table_ends_with_the_data_set_it_was_made_for() -> None:
    """A worker that the chief reconnects gets a new data set, whose table is a new one."""

    function = for_workers(of_a_large_table).get_concrete_function()

    def use() -> None:
        assert [int(found) for found in function()] == [7]

    assert_that_tables_end(use)


@pytest.mark.parametrize("layer", [False, True], ids=["table", "layer"])
def test_a_table_that_evaluate_makes_ends_with_it(tmp_path: Path, layer: bool) -> None:
    """An evaluator calls it for every checkpoint."""

    class Evaluates(Text):
        def evaluate(self, ctx: Context, model: Any) -> Mapping[str, float]:
            (found,) = of_a_large_table(layer)
            return {"found": float(found)}

    ctx = context(tmp_path)

    def use() -> None:
        assert measure(Evaluates(), ctx, None)["found"] >= 7

    assert_that_tables_end(use)


def of_a_large_table(layer: bool = False) -> Any:
    """A data set of one example, which was looked up in it."""
    keys = np.arange(WORDS_OF_A_LARGE_TABLE)
    if layer:
        lookup = tf_keras.layers.IntegerLookup(vocabulary=keys)
    else:
        filled = tf.lookup.KeyValueTensorInitializer(keys, keys)
        lookup = tf.lookup.StaticHashTable(filled, default_value=-1).lookup
    return tf.data.Dataset.from_tensors(tf.constant(7, tf.int64)).map(lookup)


def assert_that_tables_end(use: Callable[[], None]) -> None:
    """A table takes at least 24 bytes an entry. Were none ended, each ten uses would take ten times
    that. The process grows now and then without it, so once in five it must not have."""
    kept = 10 * 24 * WORDS_OF_A_LARGE_TABLE
    taken = []
    for _ in range(6):
        for _ in range(10):
            use()
        gc.collect()  # layers hold themselves
        taken.append(resident())
        if len(taken) > 1 and taken[-1] - taken[-2] < kept / 2:
            return
    raise AssertionError(taken)


def resident() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
