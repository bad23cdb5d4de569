"""What the verbs print for programs: JSON and YAML say the same, whatever a cluster says."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tf_cluster.cli.cluster import Output, document_text

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
