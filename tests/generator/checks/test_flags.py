"""Flags of `tf-cluster run` are held to the rules that the file's own keys are held to."""

from __future__ import annotations

from typing import Any

import pytest
from tf_cluster.check import Checked, check
from tf_cluster.params.values import Flag

GOOD = "name: a\nprogram: {module: 'p.m:C'}\n"


def checked(text: str, **flags: Any) -> Checked:
    """A local run of a good file and `text`, with `--<name> <value>` for each keyword."""
    given = {Flag(f"--{name}"): value for name, value in flags.items()}
    return check("p.yaml", (GOOD + text).encode(), for_cluster=False, flags=given)


@pytest.mark.parametrize(
    ("text", "flags", "code", "words"),
    [
        ("", {"id": "data"}, "TFC312", "--id is 'data', which"),
        ("", {"id": "a/b"}, "TFC206", '--id is "a/b", not letters'),
        ("", {"workers": 100_000}, "TFC205", "--workers is 100000; the most"),
        ("strategy: all-reduce", {"ps": 2}, "TFC318", "--ps is set, but strategy all-reduce"),
        (
            "extraValues: {strategy: all-reduce}",
            {"ps": 2},
            "TFC318",
            "--ps is set, but strategy all-reduce",
        ),
    ],
)
def test_a_flag_that_a_rule_refuses_is_named(
    text: str, flags: dict[str, Any], code: str, words: str
) -> None:
    result = checked(text, **flags)

    (finding,) = result.of_flags
    assert (finding.code, finding.message[: len(words)]) == (code, words)
    assert result.findings == ()
    assert not result.good


@pytest.mark.parametrize(
    "text", ["workers: 3", "extraValues: {worker: {replicas: 3}}", "preset: large"]
)
def test_a_flag_has_the_last_word(text: str) -> None:
    result = checked(text, workers=5)

    assert result.good
    assert result.values.effective["worker"]["replicas"] == 5


def test_rules_see_the_flags_number_and_not_the_files() -> None:
    text = "train: {steps: 100, checkpoint: {steps: 50}}"

    assert checked(text).findings == ()
    (warning,) = checked(text, steps=10).findings
    assert (warning.code, warning.pointer) == ("TFC306", ("train", "checkpoint", "steps"))
    assert checked(text.replace("100", "10"), steps=100).findings == ()


def test_a_flag_hides_no_finding_of_the_file() -> None:
    text = "extraValues: {worker: {replicas: many}}"

    (finding,) = checked(text, workers=5).findings
    assert finding.code == "TFC311"
