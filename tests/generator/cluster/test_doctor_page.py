"""docs/doctor.md and `tf-cluster explain` have every rule of the doctor, in its own words."""

from __future__ import annotations

import pytest
from tf_cluster.cluster.doctor.finding import Rule
from tf_cluster.cluster.doctor.rules import RULES
from tf_cluster.explain.explain import explained, known

from tools.doctor_page import PAGE, page


def test_the_page_is_that_of_the_rules() -> None:
    """When it is not: python -m tools.doctor_page."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_code_can_be_explained(rule: Rule) -> None:
    text = explained(rule.code.lower())
    assert text.startswith(f"{rule.code}: {rule.about}\n")
    assert " ".join(rule.mend.split()) in " ".join(text.split())
    assert rule.code in known()
