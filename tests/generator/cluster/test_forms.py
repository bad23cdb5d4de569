"""What the verbs print for programs: JSON and YAML say the same, whatever a cluster says."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from tf_cluster.cli.cluster import Output, document_text
from tf_cluster.cluster.snapshot import Event
from tf_cluster.cluster.text import events_json
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
    schema = json.loads(printed_schema_text("events"))
    Draft7Validator.check_schema(schema)
    Draft7Validator(schema).validate(made)
    first, second = made["events"]
    assert (first["type"], first["count"]) == ("Warning", 3)
    assert (first["namespace"], first["at"]) == ("vision", "2026-11-29T12:00:05+00:00")
    assert first["object"] == {"kind": "Pod", "name": "digits-ps-1"}
    assert (second["type"], second["at"]) == ("Normal", None)
