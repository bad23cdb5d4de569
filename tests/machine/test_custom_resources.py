"""The definitions of others' APIs: each is pinned, and each kind that the chart makes has one."""

import re

import pytest

from tests.chart.helm import APIS
from tools.machine.custom_resources import FILES, MODULE


@pytest.mark.parametrize("module", FILES)
def test_a_module_is_pinned_by_its_sum(module: str) -> None:
    (version,) = re.findall(rf"^\t{module} (v\S+)$", (MODULE / "go.mod").read_text(), re.M)
    assert f"{module} {version} h1:" in (MODULE / "go.sum").read_text()


def test_every_kind_that_not_each_cluster_has_is_defined() -> None:
    files = [name.rpartition("/")[2] for names in FILES.values() for name in names]
    for api in APIS:
        group, _, kind = api.split("/")
        assert f"{group}_{kind.lower()}s.yaml" in files
