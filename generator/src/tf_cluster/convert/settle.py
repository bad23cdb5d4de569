"""What the checks refuse of a draft is taken out and is to do: what is written is valid."""

from pathlib import Path

from tf_cluster.check import check
from tf_cluster.checks.image import IMAGE_MISSING
from tf_cluster.checks.placeholder_program import NOT_NAMED, UNKNOWN
from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job
from tf_cluster.findings.finding import Finding, errors
from tf_cluster.params.schema_violations import CHART_REFUSES, UNKNOWN_KEY
from tf_cluster.pointer import Pointer
from tf_cluster.yaml.writer import yaml_text

NOT_YET = (IMAGE_MISSING, NOT_NAMED)
"""Errors that a params file made of a TFJob may have: only a person knows the image, the script."""
MOST_ROUNDS = 5
"""What is taken out can leave something alone, which goes in the next round."""

_NOWHERE = Path("/nonexistent")
_NAME: Pointer = ("name",)
_NAMELESS = "training"
_PROGRAM: tuple[Pointer, ...] = (("program",), ("program", "script"))
_WHOLE = ("affinity", "podSecurityContext")
_CONTAINERS = ("initContainers", "sidecars")


def settle(job: Job, draft: Draft) -> None:
    """Take out what has errors, until there are none or no more can be taken out."""
    for _ in range(MOST_ROUNDS):
        found = _refused(draft)
        if not found:
            return
        # by the places of this round: taking out an item moves those after it
        places = [(finding, draft.in_draft(finding.pointer)) for finding in found]
        for finding, place in places:
            _take_out(job, draft, place, finding)
    for finding in _refused(draft):
        job.remark((), f"validate will say: {finding.words}", str((*finding.pointer, "")[0]))


def _refused(draft: Draft) -> list[Finding]:
    """The errors of the draft as it is now. What is not named yet is told elsewhere."""
    text = yaml_text(draft.params())
    found = errors(check("converted", text.encode(), folder=_NOWHERE).findings)
    return [finding for finding in found if finding.code not in NOT_YET]


def _take_out(job: Job, draft: Draft, place: Pointer, finding: Finding) -> None:
    target = _part(place, finding)
    if target == _NAME:
        if draft.get(_NAME) != _NAMELESS:
            source = draft.origins[_NAME]
            draft.put(_NAME, _NAMELESS, source)
            job.withdraw(source)
            job.remark(source, f"name the training ({finding.words})", "name")
        return
    if target in _PROGRAM:
        draft.put(("program", "script"), f"{UNKNOWN}/train.py", draft.origins["program", "script"])
        draft.take_out(("program", "path"))
        why = f"name the script ({finding.words})"
        job.remark(draft.origins["program", "script"], why, "program")
        return
    if not target or draft.is_out(target):
        return
    draft.take_out(target)
    source = draft.source_of(target) or ()
    job.withdraw(source)
    job.remark(source, f"left out, since {finding.words}", str(target[0]) if target else "")


def _part(place: Pointer, finding: Finding) -> Pointer:
    """What goes with a wrong value: the list's item that it stands in, or itself."""
    if place[:1] != ("extraValues",):
        if place[:2] == ("program", "args"):
            return place[:3]
        return place
    if len(place) > 2 and place[2] in _WHOLE:
        return place[:3]
    index = next((i for i, part in enumerate(place) if isinstance(part, int)), None)
    if index is None:
        return place
    is_of_container = len(place) == index + 2 and place[2] in _CONTAINERS
    if is_of_container and finding.code in (UNKNOWN_KEY, CHART_REFUSES):
        return place if place[-1] not in ("name", "image") else place[: index + 1]
    return place[: index + 1]
