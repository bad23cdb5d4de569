"""What the tool takes, Helm, the trainer and a real API server take: params files and their code.

They are drawn over the schema of params, their extraValues over that of the chart.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
import tf_cluster
from hypothesis import find, given, note, seed
from hypothesis.errors import NoSuchExample

from tests.chart.fuzz.api import ApiServer, asks_for_more
from tests.chart.fuzz.files import LEAVES
from tests.chart.fuzz.params import SCHEMA, ParamsFile, has, params_files
from tests.chart.fuzz.verdicts import loaded, refused, rendered_of, taken
from tests.cluster.machine_tools import tool_path
from tests.generator.helm_reader import HelmReader
from tests.slices import sliced
from tests.support.drawing import draws

# 20,000 in all; each that the tool takes costs Helm three processes: 30 seconds of CPU a part.
PARTS, FILES = 200, 100
LEAST_TAKEN = 0.4  # of the files of a part
# Read by no template, and what a user writes there is no object of ours.
NOT_DRAWN = ("global", "extraObjects")
TRIES = 300


@dataclass
class Count:
    """Of the files of one part."""

    drawn: int = 0
    taken: int = 0


def each_of(part: int, hold: Callable[[ParamsFile, tf_cluster.Loaded], Iterable[str]]) -> Count:
    """Draw the files of a part; what `hold` says against one fails, with the least such file."""
    count = Count()

    @seed(part)
    @draws(FILES)
    @given(params_files())
    def holds(file: ParamsFile) -> None:
        found = loaded(file)
        count.drawn += 1
        count.taken += found.good
        said = [*hold(file, found)]
        if said:
            note(file.text)
            note("\n".join(f"### {name}\n{text}" for name, text in file.code.files.items()))
        assert not said, "\n".join(said)

    holds()
    return count


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> HelmReader:
    folder: Path = tmp_path_factory.mktemp("reader")
    return HelmReader.make(tool_path("helm"), folder / "chart")


@pytest.mark.timeout(600)
@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_what_the_tool_takes_is_taken_and_what_it_refuses_has_a_place(
    part: int, reader: HelmReader
) -> None:
    count = each_of(
        part,
        lambda file, found: taken(file, found, reader) if found.good else refused(file, found),
    )
    assert count.drawn >= FILES
    assert count.taken >= LEAST_TAKEN * count.drawn, "what is refused says little"


@pytest.mark.cluster
@pytest.mark.parametrize("part", sliced(range(PARTS), 1))
def test_what_the_tool_takes_an_api_server_takes(
    part: int, servers: tuple[ApiServer, ApiServer]
) -> None:
    restricted, free = servers

    def hold(file: ParamsFile, found: tf_cluster.Loaded) -> Iterable[str]:
        if not found.good:
            return ()
        server = free if asks_for_more(found.values) else restricted
        text = tf_cluster.generate(found)
        return server.objections(rendered_of(text, file.params["name"], server.namespace).text)

    assert each_of(part, hold).taken


def test_every_key_and_every_value_is_in_a_file_that_is_taken() -> None:
    """Else the drawing is hollow: what all files lack, or what is always refused, is not asked."""
    values = [path for path in LEAVES if path.partition(".")[0] not in NOT_DRAWN]
    assert [must for must in (*SCHEMA["properties"], *values) if not _is_taken(must)] == []


def _is_taken(must: str) -> bool:
    """Whether some file with this key of params, or value of the chart, is taken."""

    def is_one(file: ParamsFile) -> bool:
        found = loaded(file)
        return found.good and (must in file.params or has(found.values, must))

    try:
        find(
            params_files(must),
            is_one,
            settings=draws(TRIES, shrinks=False),
            random=random.Random(must),
        )
    except NoSuchExample:
        return False
    return True
