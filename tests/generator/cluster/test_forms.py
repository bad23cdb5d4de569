"""What the verbs print for programs: JSON and YAML say the same, whatever a cluster says."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from tf_cluster.cli.cluster import Output, document_text
from tf_cluster.cluster.snapshot import Claim, Event, Training
from tf_cluster.cluster.submitting import Made, Outcome, Submission
from tf_cluster.cluster.text import deleted_json, events_json, submitted_json
from tf_cluster.params.schema_files import printed_schema_text

HOSTILE: dict[str, Any] = {
    "message": "out of \u202etxt.exe",
    "lines": "one\n::error::forged\n##[group]x\n",
    "odd": ["\u2066", "\x1b[31m", "a\u2028b", "on", "1e-4", "0x10", "é 漢", "", None, True, 3, 1.5],
    "key\u200b": {"deep": []},
}


@pytest.mark.parametrize("form", [Output.JSON, Output.YAML])
def test_a_document_is_printable_and_read_back_equal(form: Output) -> None:
    text = document_text(HOSTILE, form)
    read = json.loads(text) if form is Output.JSON else yaml.safe_load(text)
    assert read == HOSTILE
    assert not set(text) & set("\u202e\u2066\x1b\u2028\u200b")
    assert not [line for line in text.splitlines() if line.lstrip().startswith(("::", "##["))]
    assert "é 漢" in text


def test_events_have_a_form_of_their_own() -> None:
    at = datetime(2026, 11, 29, 12, 0, 5, tzinfo=timezone.utc)
    made = events_json(
        [
            Event("Pod", "digits-ps-1", "Failed", "no\nimage", count=3, at=at, namespace="vision"),
            Event("Job", "digits-chief", "Suspended", "", is_warning=False),
        ]
    )
    _has_its_form(made, "events")
    first, second = made["events"]
    assert (first["type"], first["count"]) == ("Warning", 3)
    assert (first["namespace"], first["at"]) == ("vision", "2026-11-29T12:00:05+00:00")
    assert first["object"] == {"kind": "Pod", "name": "digits-ps-1"}
    assert (second["type"], second["at"]) == ("Normal", None)


def test_what_became_of_each_submission_has_a_form() -> None:
    left = Submission("left.params.yaml", "vision", "left", "3f2a9c1b")
    made = submitted_json(
        [
            replace(left, outcome=Outcome.SUBMITTED, made=Made(3, 4)),
            replace(left, outcome=Outcome.SUBMITTED, made=Made(0, 4, held_back=True)),
            replace(left, outcome=Outcome.SUBMITTED, why="others may not have counted its pods"),
            replace(left, outcome=Outcome.DOES_NOT_FIT, why="cpu: 3 of 2"),
            replace(left, outcome=Outcome.FAILED, why="helm failed"),
            left,
        ]
    )
    _has_its_form(made, "submitted")
    rows = made["trainings"]
    assert [row["outcome"] for row in rows] == [
        *["submitted"] * 3,
        "doesNotFit",
        "failed",
        "notTried",
    ]
    assert rows[0]["pods"] == {"made": 3, "wanted": 4}
    assert [row["heldBack"] for row in rows[:3]] == [False, True, None]
    assert rows[2]["pods"] is None


def test_what_went_with_a_training_and_what_stays_has_a_form() -> None:
    data, log = (Claim(f"digits-{name}", "Bound") for name in ("data", "log"))
    training = Training("vision", "digits", "tf-cluster", claims=(data, log))
    kept, gone = deleted_json(training, ()), deleted_json(training, [log])
    for made in (kept, gone):
        _has_its_form(made, "deleted")
    assert kept["claims"] == {"deleted": [], "kept": ["digits-data", "digits-log"]}
    assert gone["claims"] == {"deleted": ["digits-log"], "kept": ["digits-data"]}


def _has_its_form(document: dict[str, Any], schema_name: str) -> None:
    schema = json.loads(printed_schema_text(schema_name))
    Draft7Validator.check_schema(schema)
    Draft7Validator(schema).validate(document)
