"""Amounts with suffixes are compared as Kubernetes compares them."""

from __future__ import annotations

import pytest
from tf_cluster.check import check
from tf_cluster.checks.resources import REQUEST_OVER_LIMIT

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"


def found(request: str, limit: str, resource: str) -> list[str]:
    amounts = f"requests: {{{resource}: '{request}'}}, limits: {{{resource}: '{limit}'}}"
    checked = check("p.yaml", f"{GOOD}resources: {{worker: {{{amounts}}}}}\n".encode())
    return [finding.code for finding in checked.findings]


@pytest.mark.parametrize(
    ("request_", "limit"),
    [("1Gi", "1000Mi"), ("1Gi", "1G"), ("1Mi", "1M"), ("1025Ki", "1Mi"), ("1Ti", "1023Gi")],
)
def test_a_request_that_is_over_its_limit_only_with_suffixes_read_right_is_found(
    request_: str, limit: str
) -> None:
    assert found(request_, limit, "memory") == [REQUEST_OVER_LIMIT]


@pytest.mark.parametrize(
    ("request_", "limit"),
    [("1G", "1Gi"), ("1000Mi", "1Gi"), ("1M", "1Mi"), ("1Gi", "1Ti"), ("999G", "1T")],
)
def test_a_request_under_its_limit_is_no_finding_whatever_the_suffixes(
    request_: str, limit: str
) -> None:
    assert found(request_, limit, "memory") == []


@pytest.mark.parametrize(
    ("request_", "limit", "resource"),
    [
        ("1", "1", "cpu"),
        ("1000m", "1", "cpu"),
        ("0.5", "500m", "cpu"),
        ("2Gi", "2Gi", "memory"),
        ("1024Mi", "1Gi", "memory"),
        ("1Gi", "1073741824", "memory"),
        ("1e3", "1k", "memory"),
    ],
)
def test_a_request_equal_to_its_limit_is_no_finding(
    request_: str, limit: str, resource: str
) -> None:
    assert found(request_, limit, resource) == []
