"""preflight against the real scheduler: 500 mixes of nodes and a training, a dozen in `make test`.

`python -m tests.cluster.operations.mixes SEED` repeats one and tells its story.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tf_cluster.cluster.preflight.text import answer_json

from tests.cluster.operations.conftest import TOOL
from tests.cluster.operations.mixes.cluster import Cluster, empty_cluster, made
from tests.cluster.operations.mixes.judging import (
    AS_SAID,
    CANT_SAY,
    WRONG_FITS,
    Judged,
    allowed,
    ask,
    complaints,
    figures,
    judged,
    values_file,
)
from tests.cluster.operations.mixes.mix import draw
from tests.slices import slice_number, sliced
from tests.support.waiting import HANG_SECONDS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(900)]

MIXES, OF_A_PART = 500, 12
STARTS = range(0, MIXES, OF_A_PART)


@pytest.fixture(scope="module")
def cluster(etcd: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with empty_cluster(tmp_path_factory.mktemp("mixes")) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def every() -> list[Judged]:
    """All mixes that this run has judged."""
    return []


@pytest.mark.parametrize("start", sliced(STARTS, 1))
def test_preflight_says_what_the_scheduler_makes(
    start: int, cluster: Cluster, every: list[Judged], tmp_path: Path
) -> None:
    seeds = range(start, min(start + OF_A_PART, MIXES))
    part = [judged(seed, cluster, tmp_path) for seed in seeds]
    every.extend(part)
    _hold(part)


def test_all_of_them_reach_the_bars(every: list[Judged]) -> None:
    """What a dozen may have by chance, 500 may not."""
    if not every:
        pytest.skip("no mix was judged in this run")
    print(figures(every))
    _hold(every)


def test_the_command_says_the_same(cluster: Cluster, tmp_path: Path) -> None:
    mix = draw(slice_number() % MIXES)
    file = values_file(mix, tmp_path)
    with made(mix, cluster):
        answer = answer_json(ask(mix, file, cluster))
        words = (TOOL, "preflight", file, "-n", mix.name, "--release", mix.name, "-o", "json")
        ran = subprocess.run(
            words,
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "KUBECONFIG": cluster.plane.kubeconfig},
            stdin=subprocess.DEVNULL,
            timeout=HANG_SECONDS,
        )
    assert ran.returncode == (answer["verdict"] == "doesNotFit"), ran.stdout + ran.stderr
    assert json.loads(ran.stdout) == answer


def test_a_mix_is_always_the_same() -> None:
    assert [draw(seed) for seed in range(20)] == [draw(seed) for seed in range(20)]
    assert len({repr(draw(seed).values) for seed in range(20)}) == 20


@pytest.mark.parametrize(
    ("part", "number", "most"),
    [(0.0, 500, 0), (WRONG_FITS, 500, 5), (CANT_SAY, 500, 25), (WRONG_FITS, 12, 1)],
)
def test_how_many_may_be_wrong(part: float, number: int, most: int) -> None:
    assert allowed(part, number) == most


def _hold(found: list[Judged]) -> None:
    stories = "\n\n".join(one.story for one in found if one.outcome not in AS_SAID)
    said = complaints(found)
    assert not said, f"{said}\n{figures(found)}\n{stories}"
