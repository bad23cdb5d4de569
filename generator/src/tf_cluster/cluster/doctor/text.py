"""What the doctor found, as text and as JSON (docs/formats.md)."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from tf_cluster.cluster.doctor.finding import Finding
from tf_cluster.cluster.snapshot import Snapshot, Training
from tf_cluster.printable import cut, printable

FORMAT = "tf-cluster.io/doctor/v1"
ALIKE = 3
"""So many findings of a code are shown; the others are counted."""
_QUOTE_LENGTH = 400


def findings_text(training: Training, findings: Sequence[Finding]) -> str:
    """What is wrong with a training: findings, each with its evidence and what mends it."""
    lines = []
    for code, group in groupby(findings, key=lambda finding: finding.code):
        alike = list(group)
        for one in alike[:ALIKE]:
            at = f" (since {one.at:%Y-%m-%d %H:%M:%S}Z)" if one.at else ""
            lines.append(f"{training.name}: {code}: {one.about}: {one.words}")
            if one.quote:
                lines.append(f"  seen: {cut(' '.join(one.quote.split()), _QUOTE_LENGTH)}{at}")
            lines.append(f"  mend: {one.mend}")
        if others := alike[ALIKE:]:
            names = ", ".join(one.about for one in others[:5])
            lines.append(f"{training.name}: {code}: {len(others)} more alike: {names}")
    return "".join(f"{printable(line)}\n" for line in lines)


def findings_json(
    snapshot: Snapshot, found: Iterable[tuple[Training, Sequence[Finding]]]
) -> dict[str, Any]:
    """All findings as a JSON document."""
    return {
        "format": FORMAT,
        "at": snapshot.at.isoformat(),
        "unread": list(snapshot.unread),
        "trainings": [
            {
                "namespace": training.namespace,
                "name": training.name,
                "findings": [
                    {
                        "code": one.code,
                        "about": one.about,
                        "words": one.words,
                        "quote": one.quote,
                        "at": one.at.isoformat() if one.at else None,
                        "mend": one.mend,
                    }
                    for one in findings
                ],
            }
            for training, findings in found
        ],
    }
