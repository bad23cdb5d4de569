"""A Helm upgrade of 1,250 tasks, against `kubectl apply` of the same objects.

The upgrade is one to a new attempt, so nearly all objects are new. A sample ends when the API
server has taken the last of them, by its audit log: what Helm deletes after that is not counted,
as kubectl deletes nothing. There are no controllers: neither side waits for any.
"""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from pathlib import Path

from tests.bench.measure import Measure, Sample
from tests.bench.pairs import in_pairs
from tests.bench.rows import Ratio, at_most
from tests.cluster.control_plane import STORAGE, ControlPlane, control_plane
from tests.cluster.kubernetes import Namespace
from tests.cluster.kwok_training import CHART, Training

WORKERS, PS = 1000, 250
NAMES = ("helm upgrade", "kubectl apply")


def _take(count: int) -> Iterator[Sample]:
    """Paired seconds to the last object."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        with control_plane(place / "plane", STORAGE) as plane:
            upgrade = _upgrades(plane)
            apply = _applies(plane, place / "objects.yaml")
            yield from in_pairs(upgrade, apply, count, NAMES)


def _upgrades(plane: ControlPlane) -> Callable[[], float]:
    """Each call upgrades one release to its next attempt."""
    training = Training(plane, plane.namespace("by-helm"), "digits", WORKERS, PS)
    training.install()
    attempts = itertools.count(2)

    def upgrade() -> float:
        flags = (*training.flags, f"--set=run.attempt={next(attempts)}")
        command = ("upgrade", training.name, str(CHART), *flags)
        return _until_the_last(plane, training.there, lambda: training.there.helm(*command))

    return upgrade


def _applies(plane: ControlPlane, file: Path) -> Callable[[], float]:
    """Each call applies what the next attempt of a release is made of."""
    training = Training(plane, plane.namespace("by-kubectl"), "digits", WORKERS, PS)
    there = training.there
    attempts = itertools.count(1)

    def apply() -> float:
        flags = (*training.flags, f"--set=run.attempt={next(attempts)}")
        file.write_text(there.helm("template", "--no-hooks", training.name, str(CHART), *flags))
        command = ("apply", f"--filename={file}")
        return _until_the_last(plane, there, lambda: there.kubectl(*command))

    apply()
    return apply


def _until_the_last(plane: ControlPlane, there: Namespace, give: Callable[[], str]) -> float:
    """Seconds until the last new object was taken, of those for each ps among them."""
    before = len(plane.requests(there.name))
    started = time.time()
    give()
    made = [
        request
        for request in plane.requests(there.name)[before:]
        if request.code == 201 and request.resource != "secrets"
    ]
    deployments = sum(request.resource == "deployments" for request in made)
    assert deployments == PS, f"{deployments} new Deployments"
    last = datetime.strptime(max(request.time for request in made), "%Y-%m-%dT%H:%M:%S.%fZ")
    return last.replace(tzinfo=timezone.utc).timestamp() - started


MEASURES = {
    "chart-upgrade": Measure(
        _take,
        11,
        8,
        dict.fromkeys(NAMES, "s"),
        [
            Ratio(
                "Helm upgrade of 1,250 tasks to a new attempt, until the API has taken all",
                "`kubectl apply` of the same objects, rendered before",
                at_most(1.2),
                NAMES,
            )
        ],
    )
}
