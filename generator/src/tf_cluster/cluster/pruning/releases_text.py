"""What a prune takes and took, as text and as JSON (docs/formats.md)."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from tf_cluster.cluster.pruning.releases import Terms, Verdict
from tf_cluster.cluster.text import span, table

FORMAT = "tf-cluster.io/prune/v1"
GOES, STAYS = "goes", "stays"
UNINSTALLED, FAILED, NOT_TRIED = "uninstalled", "failed", "not tried"
Key = tuple[str, str]


def plan_text(verdicts: Sequence[Verdict], now: datetime, *, with_namespace: bool) -> str:
    """A line for each release: first those that go, the oldest first."""
    head = ["NAME", "ENDED", "AGE", "PLAN", "WHY"]
    if with_namespace:
        head.insert(0, "NAMESPACE")

    def rank(one: Verdict) -> tuple[bool, float]:
        return (not one.goes, one.ended.timestamp() if one.ended and one.goes else 0.0)

    return table(
        head,
        (
            [
                *([one.namespace] if with_namespace else []),
                one.name,
                one.statuses,
                span((now - one.ended).total_seconds()) if one.ended else "",
                GOES if one.goes else STAYS,
                one.why,
            ]
            for one in sorted(verdicts, key=rank)
        ),
    )


def plan_json(
    verdicts: Iterable[Verdict],
    now: datetime,
    terms: Terms,
    outcomes: Mapping[Key, tuple[str, str]],
) -> dict[str, Any]:
    """The same as a JSON document; `outcomes` are what became of those that were to go, and why."""

    def outcome(one: Verdict) -> tuple[str, str]:
        planned = (GOES, "") if one.goes else (STAYS, one.why)
        return outcomes.get((one.namespace, one.name), planned)

    return {
        "format": FORMAT,
        "at": now.isoformat(),
        "olderSeconds": terms.older,
        "keep": terms.keep,
        "failed": terms.failed,
        "pages": terms.pages,
        "releases": [
            {
                "namespace": one.namespace,
                "name": one.name,
                "revision": one.revision,
                "ended": one.ended.isoformat() if one.ended and one.statuses else None,
                "trainings": [
                    {"chart": each.chart, "status": each.status or None} for each in one.endings
                ],
                "outcome": outcome(one)[0],
                "why": outcome(one)[1],
            }
            for one in verdicts
        ],
    }
