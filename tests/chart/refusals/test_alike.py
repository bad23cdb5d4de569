"""The chart and the tool say the same to 2,000 values: both take them, or both refuse."""

from __future__ import annotations

import json

import pytest
from tf_cluster.check import Checked, check
from tf_cluster.checks.absent_roles import ABSENT_ROLE
from tf_cluster.checks.overlaps import SAID_TWICE
from tf_cluster.findings.finding import errors
from tf_cluster.pointer import json_pointer, value_at

from tests.chart.helm import CHART, LEAST, RefusedError, merged, template
from tests.chart.refusals.cases import Values
from tests.chart.refusals.drawn import drawn
from tests.slices import sliced

SEEDS, VALUES = range(2_000), 40

FILE = {
    "name": "digits",
    "image": f"{LEAST['image']['repository']}:1",
    "program": LEAST["program"],
}
# About the params file itself, where values can be right: what extraValues sets again, a role that
# nobody asked for.
OF_THE_FILE = (SAID_TWICE, ABSENT_ROLE)
COMBINATION = ("strategy", "replication", "update")
# The chart reads no code.
OF_THE_CODE = "TFC5"


@pytest.mark.parametrize("first", sliced(SEEDS[::VALUES], 1))
def test_the_chart_and_the_tool_refuse_the_same(first: int) -> None:
    differing, taken = [], 0
    for seed in range(first, first + VALUES):
        values = drawn(seed)
        if names_no_program(values):
            continue
        chart, tool = said_of(values)
        taken += not chart and not tool
        if differ(chart, tool):
            said = f"the chart: {chart or 'takes it'}\nthe tool: {tool or 'takes it'}"
            differing.append(f"seed {seed}: {json.dumps(values)}\n{said}")
    assert not differing, "\n\n".join(differing)
    assert 0 < taken < VALUES, "values that are all right, or all wrong, show nothing"


def differ(chart: str, tool: list[str]) -> bool:
    """Whether one refuses values that are right for the other."""
    return bool(chart) != any(not finding.startswith(OF_THE_FILE) for finding in tool)


def said_of(values: Values) -> tuple[str, list[str]]:
    """Helm's message, if it refuses, and the errors of the tool on a file with these extraValues.

    Helm gets what the tool would write, of a file that has no error.
    """
    file = checked(values)
    found = [one for one in errors(file.findings) if not one.code.startswith(OF_THE_CODE)]
    whole = merged(_base(values), values) if found else file.values.data
    told = [f"{one.code} {json_pointer(one.pointer)} {one.message}" for one in found]
    try:
        template.__wrapped__(json.dumps(whole), "digits", "training", str(CHART))
    except RefusedError as error:
        return str(error), told
    return "", told


def _base(values: Values) -> Values:
    """What the tool writes below these: of their combination, if there is such a one."""
    chosen = checked({key: values[key] for key in COMBINATION if key in values})
    written = checked({}) if errors(chosen.findings) else chosen
    return dict(written.values.data)


def names_no_program(values: Values) -> bool:
    """Whether the file's own program is taken away: the tool sees it, and the chart none."""
    module, script = (value_at(values, ("program", key)) for key in ("module", "script"))
    return module == "" and not script


def checked(values: Values) -> Checked:
    return check("p.yaml", json.dumps({**FILE, "extraValues": values}).encode())
