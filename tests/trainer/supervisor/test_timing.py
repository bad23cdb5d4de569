"""The times that supervisors keep are those that docs/formats.md promises."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pytest
from tf_cluster_trainer.supervisor.rules.restart import delay
from tf_cluster_trainer.supervisor.timing import Timing

FORMATS = (Path(__file__).parents[3] / "docs/formats.md").read_text()
# What the page says of each, with its default (seconds) where the braces are.
PROMISES = {
    "renewal": "renewed every {:g} s: counter + 1",
    "grace": "it ends its child (SIGTERM, {:g} s, SIGKILL) and exits 0",
    "worker_poll": "worker and ps supervisors poll the chief's `/progress`: every 0.5 or {:g} s;",
    "quick_poll": "worker and ps supervisors poll the chief's `/progress`: every {:g} or 1 s;",
    "calm_poll": "every {:g} s while the chief trains, by those whose server stays",
    "guard": "each every {:g} s, naming no epoch;",
    "stall": "only when no step was heard of for {:g} s",
    "steady": "(a new checkpoint, or {:g} s of service, give them all back)",
}
# No promise: how often a supervisor looks at its clocks.
OWN_AFFAIR = {"tick"}


@pytest.mark.parametrize(("name", "sentence"), PROMISES.items(), ids=PROMISES)
def test_a_default_is_what_the_formats_page_says(name: str, sentence: str) -> None:
    assert sentence.format(asdict(Timing())[name]) in FORMATS


def test_a_save_has_the_minutes_that_the_formats_page_says() -> None:
    minutes = Timing().save / 60
    assert f"saves (a child that does not end in {minutes:g} min is killed)" in FORMATS
    assert f"Answers count for {minutes:g} min at most after the last renewal" in FORMATS


def test_restarts_in_a_row_come_as_the_formats_page_says() -> None:
    first, *then = (delay(restarts, Timing().backoff) for restarts in range(1, 8))
    assert first == 0
    assert then[-3:] == [then[-1]] * 3
    said = ", ".join(f"{seconds:g}" for seconds in then[:3])
    assert f"(at once, then after {said} and each time {then[-1]:g} s)" in FORMATS
    assert delay(100_000, Timing().backoff) == then[-1]  # failure.restarts has no limit


def test_every_default_is_held_to_the_page() -> None:
    assert {*PROMISES, "save", "backoff"} | OWN_AFFAIR == set(asdict(Timing()))
