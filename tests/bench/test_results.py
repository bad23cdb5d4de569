"""What is kept of a measure, and the page made of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.bench import results
from tests.bench.__main__ import chosen, main
from tests.bench.catalog import MEASURES
from tests.bench.measure import Measure, Sample
from tests.bench.origin import Machine, Origin, Tree, origin, tree
from tests.bench.results import Lost, Record
from tests.bench.rows import MET, UNSURE, Ratio, at_least

COMMIT = "0123456789" * 4
UNITS = {"ours": "s", "by hand": "s"}
ORIGIN = Origin(COMMIT, False, "2026-11-23", Machine(2, 7.8, "Linux x86_64"), {"Python": "3.11.7"})


def record(ours: Sequence[float] = (1.5,) * 9) -> Record:
    return Record(ORIGIN, UNITS, {"ours": tuple(ours), "by hand": (1.0,) * len(ours)})


def measure(take: Callable[[int], Iterator[Sample]] = lambda _: iter(())) -> Measure:
    return Measure(take, 9, 1, UNITS, [Ratio("speed", "a loop", at_least(1))])


def cells(kept: dict[str, results.Kept], of: Measure | None = None) -> list[str]:
    """The page's only row."""
    line = results.page(kept, {"a": of or measure()}).splitlines()[-1]
    return [cell.strip() for cell in line.strip("|").split("|")]


def changed(file: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    document = json.loads(file.read_text())
    change(document["a"])
    file.write_text(json.dumps(document))
    return file


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    file = tmp_path / "results.json"
    results.save({"a": record()}, ("a",), file)
    return file


def test_samples_are_read_as_they_were_written(kept: Path) -> None:
    made: dict[str, results.Kept] = {"b": record([1.25, 3.0]), "a": Lost(COMMIT), "old": record()}
    results.save(made, ("a", "b"), kept)
    assert list(results.load(kept).items()) == [("a", made["a"]), ("b", made["b"])]


def test_samples_of_a_column_are_one_line(kept: Path) -> None:
    assert '"ours": [1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5]' in kept.read_text()


def test_no_verdict_is_kept(kept: Path) -> None:
    assert MET not in kept.read_text() + results.RESULTS.read_text(encoding="utf-8")


@pytest.mark.parametrize("commit", ["", "0123456", None])
def test_a_record_without_its_whole_commit_is_refused(kept: Path, commit: str | None) -> None:
    with pytest.raises(ValueError, match=r"results.json, a: no whole commit .* measure it again"):
        results.load(changed(kept, lambda one: one.update(commit=commit)))


@pytest.mark.parametrize("name", ["changed", "day", "machine", "versions", "units", "samples"])
def test_a_record_that_does_not_say_where_it_is_from_is_refused(kept: Path, name: str) -> None:
    with pytest.raises(ValueError, match=f"results.json, a: lacks something: '{name}'"):
        results.load(changed(kept, lambda one: one.pop(name)))


def test_a_record_without_its_cores_is_refused(kept: Path) -> None:
    with pytest.raises(ValueError, match=r"lacks something: .*cores"):
        results.load(changed(kept, lambda one: one["machine"].pop("cores")))


def test_pairs_that_lack_a_half_are_refused(kept: Path) -> None:
    with pytest.raises(ValueError, match="not as many samples"):
        results.load(changed(kept, lambda one: one["samples"]["ours"].pop()))


def test_a_record_without_samples_is_refused(kept: Path) -> None:
    with pytest.raises(ValueError, match="no samples"):
        results.load(changed(kept, lambda one: one.update(samples={"ours": [], "by hand": []})))


def test_a_record_that_can_not_be_loaded_again_leaves_the_file_as_it_was(kept: Path) -> None:
    before = kept.read_bytes()
    made = Record(replace(ORIGIN, commit=""), UNITS, record().samples)
    with pytest.raises(ValueError, match="no whole commit"):
        results.save({"a": made}, ("a",), kept)
    assert kept.read_bytes() == before


def test_the_verdict_is_made_of_the_samples() -> None:
    what, value, against, bar, verdict, made = cells({"a": record()})
    assert (what, against, bar, verdict) == ("speed", "a loop", "≥ 1 ×", MET)
    assert value == "1.500 × (95 % 1.500–1.500, 9 pairs); 1.5 s against 1 s"
    assert made == "2026-11-23, `0123456`, A"
    assert "- A: 2 cores, 7.8 GiB, Linux x86_64, Python 3.11.7" in results.page(
        {"a": record()}, {"a": measure()}
    )


@pytest.mark.parametrize("number", [1, 3, 8, 10, 18])
def test_no_other_number_of_samples_than_was_fixed_beforehand_meets_a_bar(number: int) -> None:
    verdict = cells({"a": record([1.5] * number)})[4]
    assert verdict == f"{UNSURE}; {number} of 9 samples"


def test_samples_of_changed_files_say_so() -> None:
    one = replace(record(), origin=replace(ORIGIN, changed=True))
    assert cells({"a": one})[-1] == "2026-11-23, `0123456` and changes, A"


def test_a_row_whose_samples_are_lost_shows_no_figure_and_no_verdict() -> None:
    words = "measured before samples were kept (commit `0123456`); to be made again"
    assert cells({"a": Lost(COMMIT)}) == ["speed", words, "a loop", "≥ 1 ×", "", ""]


def test_a_row_that_was_never_measured_is_on_the_page() -> None:
    assert cells({}) == ["speed", "not measured yet", "a loop", "≥ 1 ×", "", ""]


def test_samples_of_another_definition_are_not_told_as_this_one() -> None:
    other = Measure(
        lambda _: iter(()), 9, 1, {"x": "s", "y": "s"}, [Ratio("", "", None, ("x", "y"))]
    )
    assert "before it was so defined" in cells({"a": record()}, other)[1]


def test_a_row_of_a_column_that_is_not_taken_is_refused() -> None:
    with pytest.raises(ValueError, match="speed: no column fast"):
        Measure(lambda _: iter(()), 9, 1, UNITS, [Ratio("speed", "", None, ("ours", "fast"))])


@pytest.mark.parametrize("sample", [{"ours": 1.0}, {"ours": 1.0, "by hand": float("nan")}])
def test_a_sample_that_lacks_a_figure_is_refused(sample: Sample) -> None:
    with pytest.raises(ValueError, match="sample 1 is"):
        measure().samples_of(iter([sample]))


def test_the_commit_and_the_versions_are_those_of_this_checkout() -> None:
    began = tree()
    made = origin(began, {"Kubernetes": "v1"})
    assert (made.commit, made.changed) == (began.commit, began.changed)
    assert {"Python", "TensorFlow", "Kubernetes"} <= set(made.versions)
    assert made.machine.cores >= 1


def test_a_commit_that_changes_under_a_measure_is_a_change() -> None:
    assert origin(Tree(COMMIT, changed=False), {}).changed


def test_a_look_with_another_number_of_samples_is_never_kept(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit):
        main(["validate", "--samples", "18", "--write"])
    assert "fixed beforehand" in capsys.readouterr().err


def test_a_name_stands_for_itself_or_for_all_that_begin_with_it() -> None:
    assert chosen("recovery") == ["recovery"]  # not those in pods, which need a cluster
    assert chosen("start")[0] == "start-in-graph-async"
    assert len(chosen("rate")) == 5
    assert chosen("nope") == []


def test_every_measure_takes_enough_samples_for_a_verdict() -> None:
    for name, one in MEASURES.items():
        for row in one.rows:
            made = Record(ORIGIN, one.units, dict.fromkeys(one.units, (1.0,) * one.samples))
            lines = results.page({name: made}, {name: replace(one, rows=[row])})
            assert row.bar is None or UNSURE not in lines.splitlines()[-1], name


def test_the_page_is_that_of_the_results() -> None:
    page = results.PAGE.read_text(encoding="utf-8")
    assert page == results.page(results.load(), MEASURES), "python -m tests.bench --page"
