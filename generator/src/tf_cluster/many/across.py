"""Rules across files: what two trainings of one cluster can't both have.

No params file says in which namespace, or in which cluster, it is installed. So only files of one
folder are compared, and the findings are warnings: files of two folders are most often one training
in two places.
"""

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tf_cluster.findings.file_codes import NAME_TWICE, NODE_PORT_TWICE, VOLUME_TWICE
from tf_cluster.findings.finding import Code, Finding, Related, by_place
from tf_cluster.many.outcome import NAME, NODE_PORT, VOLUME, Outcome, Taken
from tf_cluster.pointer import dotted

_RULES: dict[str, tuple[Code, str, str]] = {
    NAME: (
        NAME_TWICE,
        "in one namespace only one of the two can be installed",
        "give each training its own name, or alternatives of one training their own folders",
    ),
    NODE_PORT: (
        NODE_PORT_TWICE,
        "in one cluster only one of the two gets it",
        "take another port, or leave it out: Kubernetes then chooses one",
    ),
    VOLUME: (
        VOLUME_TWICE,
        "a volume is bound to one claim, and the other waits for ever",
        "name another volume, or a claim that both use",
    ),
}


def with_rules_across(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """The same, and each file's findings on what a file before it in its folder has, too."""
    taken: dict[tuple[str, str, str], tuple[Outcome, Taken]] = {}
    result = []
    for one in outcomes:
        folder = os.path.realpath(Path(one.file).parent)
        found = []
        for mine in one.takes:
            other, theirs = taken.setdefault((folder, mine.kind, mine.value), (one, mine))
            same_name = mine.kind != NAME and one.training == other.training
            if other is not one and not same_name:
                found.append(_finding(one, mine, other, theirs))
        if found:
            one = replace(one, findings=tuple(by_place((*one.findings, *found))))
        result.append(one)
    return result


def _finding(one: Outcome, mine: Taken, other: Outcome, theirs: Taken) -> Finding:
    code, why, fix = _RULES[mine.kind]
    where = f"{Path(other.name).name}:{theirs.place.line}"
    return Finding(
        one.name,
        mine.place,
        code,
        f"{dotted(mine.pointer)} is {mine.value}, as in {where}: {why}",
        mine.pointer,
        mine.value,
        fix,
        "warning",
        related=(Related(other.name, theirs.place),),
    )
