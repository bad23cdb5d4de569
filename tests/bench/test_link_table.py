"""What a row of the tables of links is made of."""

from __future__ import annotations

import pytest

from tests.bench.link_table import (
    BYTES_PER_SECOND,
    CELLS,
    HEAD,
    PAGE,
    Cell,
    Look,
    Moved,
    cpu_by_step,
    document,
    models,
    moved_by_step,
    settled,
    step_at,
    told,
    written,
)
from tests.bench.links import Traffic
from tests.bench.training import Point

POINTS = [Point(10.0 + tick, {"workers/0_steps": 10 * tick}) for tick in range(11)]


def look(time: float, *, saved: int = 0) -> Look:
    """A training of 10 steps a second from 10 s on: 100 bytes are read a step, 60 of them of ps-0.

    The chief reads `saved` bytes of each ps at the end.
    """
    steps = min(100, max(0, int(10 * (time - 10))))
    traffic = {
        "ps-0": Traffic(60 * steps + saved, 30 * steps),
        "ps-1": Traffic(40 * steps + saved, 20 * steps),
        "worker-0": Traffic(50 * steps, 100 * steps),
        "chief-0": Traffic(1, 2 * saved),
    }
    return Look(time, traffic, 5.0 + steps * 0.2)


LOOKS = [*map(look, (9.0, 11.0, 13.0, 15.0, 18.0, 20.0)), look(25.0, saved=10_000)]


def test_the_start_and_the_save_at_the_end_are_no_step_s() -> None:
    inside = settled(POINTS, LOOKS)
    assert [one.time for one in inside] == [13.0, 15.0, 18.0, 20.0]
    assert moved_by_step(LOOKS, inside, 100) == Moved(100, 50, 60, 30)
    assert cpu_by_step(POINTS, inside) == pytest.approx(0.2)


def test_one_look_while_it_ran_is_too_few() -> None:
    with pytest.raises(ValueError, match="too few looks"):
        settled(POINTS, LOOKS[:3])


def test_a_step_between_two_points_lies_on_the_line() -> None:
    assert step_at(POINTS, 12.5) == 25
    assert (step_at(POINTS, 5.0), step_at(POINTS, 50.0)) == (0, 100)


def test_links_allow_what_workers_move_in_turn_and_a_ps_at_once() -> None:
    one_ps = Moved(100e6, 100e6, 100e6, 100e6)
    assert [one_ps.allowed(workers, 100e6) for workers in (1, 2, 4)] == [0.5, 1, 1]
    two_ps = Moved(100e6, 100e6, 50e6, 50e6)
    assert [two_ps.allowed(workers, 100e6) for workers in (2, 4, 8)] == [1, 2, 2]


@pytest.mark.parametrize(
    ("rate", "cpu", "bound"),
    [
        (0.59, 0.1, "link"),
        (0.3, 100.0, "CPU"),
        (0.3, 0.1, "neither"),
        (0.59, 100.0, "link and CPU"),
    ],
)
def test_a_row_says_what_it_is_bound_by(rate: float, cpu: float, bound: str) -> None:
    one = Moved(*(BYTES_PER_SECOND,) * 4)
    row = told(Cell(workers=1), one, 0.5 * rate / 0.59, cpu, 4)
    assert row.endswith(f"| {bound} |")
    assert row.count("|") == HEAD.count("|")


def test_a_table_takes_the_place_of_the_last_one_alone() -> None:
    page = "a\n<!-- links: x -->\nold\n<!-- end of links: x -->\n<!-- links: y -->\n\nb\n"
    new = page.replace("old", "1\n2")
    assert written(page, "x", ["1", "2"]) == new
    with pytest.raises(ValueError, match="no place for the table z"):
        written(page, "z", [])


def test_every_model_has_a_place_on_the_page_and_every_row_other_params() -> None:
    page = PAGE.read_text()
    for name, model in models().items():
        assert written(page, name, ["new"]) != page
        rows = [document(model, cell) for cell in CELLS]
        assert len({str(one) for one in rows}) == len(CELLS)
        assert all(one["train"]["steps"] == model.steps for one in rows)
