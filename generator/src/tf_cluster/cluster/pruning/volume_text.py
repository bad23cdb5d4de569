"""The runs on a volume and what became of them, as text and as JSON (docs/formats.md)."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any

from tf_cluster.cluster.claim_job import Place
from tf_cluster.cluster.pruning.releases_text import GOES, STAYS
from tf_cluster.cluster.pruning.volume import Removal, Run, Volume, size_text
from tf_cluster.cluster.text import span, table
from tf_cluster.printable import printable

FORMAT = "tf-cluster.io/prune-runs/v1"
HALF = "was half removed before"


def runs_text(volume: Volume, runs: Sequence[Run]) -> str:
    """A line for each run: first those that go, the largest first; then how much it is in all."""
    going = [one for one in runs if one.goes]
    rows = [
        [
            one.training,
            one.run,
            size_text(one.size),
            span((volume.at - one.written) / 1e9),
            "" if one.checkpoint is None else str(one.checkpoint),
            str(len(one.exports) or ""),
            GOES if one.goes else STAYS,
            one.why,
        ]
        for one in sorted(runs, key=lambda one: (not one.goes, -one.size))
    ]
    half = [
        [one.training, one.name, size_text(one.size), "", "", "", GOES, HALF] for one in volume.left
    ]
    head = ["TRAINING", "RUN", "SIZE", "WRITTEN", "CHECKPOINT", "EXPORTS", "PLAN", "WHY"]
    gone = sum(one.size for one in going) + sum(one.size for one in volume.left)
    total = f"{size_text(volume.size)} in all, {size_text(gone)} of it goes; "
    total += f"{size_text(volume.free)} of the volume are free\n"
    others = "".join(
        f"left alone: {printable(name)}: {printable(why)}\n" for name, why in volume.others
    )
    return table(head, [*half, *rows]) + others + total


def question(going: Sequence[Run], volume: Volume, claim: str) -> str:
    """What is about to happen."""
    size = sum(one.size for one in going) + sum(one.size for one in volume.left)
    number = len(going) + len(volume.left)
    runs = f"{number} {'run' if number == 1 else 'runs'}"
    exports = sum(len(one.exports) for one in going)
    with_them = f", with {exports} exported {'model' if exports == 1 else 'models'}"
    return f"remove {runs} from claim {claim}, {size_text(size)}{with_them if exports else ''}"


def removal_text(runs: Iterable[Run], removal: Removal) -> str:
    """A line for each run that was to go, and bytes before and after."""
    lines = [
        f"{'/'.join(key)} {word}{f': {why}' if why else ''}"
        for key, (word, why) in removal.outcomes.items()
    ]
    lines.append(
        f"{size_text(removal.before)} before, {size_text(removal.after)} after; "
        f"{size_text(removal.free)} of the volume are free"
    )
    return "".join(f"{printable(line)}\n" for line in lines)


def runs_json(
    place: Place,
    volume: Volume,
    runs: Iterable[Run],
    removal: Removal | None,
    *,
    older: int | None,
    keep: int | None,
) -> dict[str, Any]:
    """All of it as a JSON document."""
    outcomes = removal.outcomes if removal else {}

    def outcome(key: tuple[str, str], why: str) -> tuple[str, str]:
        return outcomes.get(key, (STAYS, why) if why else (GOES, ""))

    return {
        "format": FORMAT,
        "namespace": place.namespace,
        "claim": place.claim,
        "subPath": place.sub_path,
        "at": _time(volume.at),
        "olderSeconds": older,
        "keep": keep,
        "bytesBefore": removal.before if removal else volume.size,
        "bytesAfter": removal.after if removal else None,
        "freeBytes": removal.free if removal else volume.free,
        "runs": [
            {
                "training": one.training,
                "run": one.run,
                "bytes": one.size,
                "written": _time(one.written),
                "checkpoint": one.checkpoint,
                "exports": list(one.exports),
                "outcome": outcome((one.training, one.run), one.why)[0],
                "why": outcome((one.training, one.run), one.why)[1],
            }
            for one in runs
        ],
        "halfRemoved": [
            {
                "training": one.training,
                "name": one.name,
                "bytes": one.size,
                "outcome": outcome((one.training, one.name), "")[0],
                "why": outcome((one.training, one.name), "")[1],
            }
            for one in volume.left
        ],
        "others": [{"name": name, "why": why} for name, why in volume.others],
    }


def _time(nanoseconds: int) -> str:
    seconds = nanoseconds // 10**9
    return datetime.fromtimestamp(seconds, timezone.utc).isoformat()
