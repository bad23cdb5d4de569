"""The lint finds each way to compare a combination's names."""

from __future__ import annotations

import pytest

from tools.combination_lint import of_python, of_template


@pytest.mark.parametrize(
    "line",
    [
        'settings.update == "sync"',
        "settings.strategy != other",
        'values.get("strategy") == "all-reduce"',
        'word in ("in-graph", "between-graph")',
        'match word:\n    case "async":\n        pass',
    ],
)
def test_a_comparison_in_python_is_found(line: str) -> None:
    assert list(of_python(line))


@pytest.mark.parametrize(
    "line",
    ['if eq .Values.strategy "all-reduce"', 'if ne $way "sync"', "if eq $x .root.Values.update"],
)
def test_a_comparison_in_a_template_is_found(line: str) -> None:
    assert list(of_template(f"{{{{- {line} -}}}}")) == [1]


def test_asking_a_row_is_none() -> None:
    assert not list(of_python('found.update({"strategy": row.strategy}) if row.has_ps else None'))
    assert not list(of_template('{{ if (include "tf-cluster.combination" .).hasPs }}sync{{ end }}'))
