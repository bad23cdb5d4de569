"""Hold what preflight says of a mix to what the scheduler makes of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import pytest
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.preflight.answer import Answer, Verdict, When
from tf_cluster.cluster.preflight.check import preflight
from tf_cluster.cluster.preflight.look import look
from tf_cluster.cluster.preflight.text import answer_text
from tf_cluster.planning.inputs import asked_values
from tf_cluster.planning.plan import plan

from tests.cluster.operations.mixes import truth
from tests.cluster.operations.mixes.cluster import Cluster, made, others_go
from tests.cluster.operations.mixes.mix import Mix, draw
from tests.cluster.operations.mixes.truth import EMPTIED, SURE, Truth

WRONG_FITS, CANT_SAY = 0.01, 0.05
"""Of all mixes, at most so many may be answered so. "Does not fit" is never wrong."""
MANY, SURELY = 5, 0.99
"""From so many that may be on, the part is exact; of fewer, chance keeps it so surely."""


class Outcome(Enum):
    """How an answer and the truth go together."""

    FITS = "it fits, as said"
    DOES_NOT_FIT = "it does not fit, as said"
    CANT_SAY = "preflight can't say"
    WRONG_FITS = "preflight says that it fits, and it does not"
    WRONG_DOES_NOT_FIT = "preflight says that it does not fit, and it does"
    WRONG_NEVER = "preflight says never, and it fits when the others are gone"


AS_SAID = (Outcome.FITS, Outcome.DOES_NOT_FIT)


@dataclass(frozen=True)
class Judged:
    """A mix, what preflight said and what became of it."""

    mix: Mix
    answer: Answer
    truth: Truth
    outcome: Outcome

    @property
    def line(self) -> str:
        """In short."""
        seen = f"{len(self.truth.placed)} of {self.truth.wanted} placed"
        return f"{self.mix.seed}: {self.outcome.value}; {seen}; {'; '.join(self.mix.how)}"

    @property
    def story(self) -> str:
        """All that there is to know."""
        parts = (
            self.line,
            *(f"node {json.dumps(_short(node))}" for node in self.mix.nodes),
            *(f"other {json.dumps(pod['spec'])}" for pod in (*self.mix.others, *self.mix.here)),
            *(f"rule {json.dumps(rule)}" for rule in self.mix.rules),
            *(f"volume {json.dumps(one['spec'])}" for one in self.mix.volumes),
            f"values {json.dumps(self.mix.values)}",
            answer_text(self.answer),
            truth.words(self.truth),
        )
        return "\n".join(parts)


def judged(seed: int, cluster: Cluster, folder: Path) -> Judged:
    """Draw a mix, make it, ask preflight, make the training, and compare.

    "Never" is tried too: the others go. Pods of the training that have a place by then keep it.
    """
    mix = draw(seed)
    file = values_file(mix, folder)
    objects = truth.rendered(mix, file)
    with made(mix, cluster):
        answer = ask(mix, file, cluster)
        seen = truth.of(mix, cluster, objects)
        if answer.verdict is Verdict.FITS and not seen.fits and not seen.refused:
            seen = truth.settled(mix, cluster, objects, SURE)
        outcome = _outcome(answer, seen)
        if outcome is Outcome.DOES_NOT_FIT and mix.others and _is_never_by_nodes(answer):
            others_go(mix, cluster)
            if truth.settled(mix, cluster, objects, EMPTIED).fits:
                outcome = Outcome.WRONG_NEVER
    return Judged(mix, answer, seen, outcome)


def values_file(mix: Mix, folder: Path) -> Path:
    """The values of a mix's training, as a file."""
    file = folder / f"{mix.name}.values.yaml"
    file.write_text(json.dumps(mix.values))
    return file


def ask(mix: Mix, file: Path, cluster: Cluster) -> Answer:
    """What the code of `tf-cluster preflight` answers."""
    asked = asked_values(file.name, file.read_bytes())
    assert asked.good, asked.findings
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KUBECONFIG", cluster.plane.kubeconfig)
        connection = connect(None, mix.name)
    planned = plan(asked.effective, release=mix.name, namespace=mix.name)
    return preflight(connection, look(connection), planned)


def _outcome(answer: Answer, seen: Truth) -> Outcome:
    if answer.verdict is Verdict.CANT_SAY:
        return Outcome.CANT_SAY
    if answer.verdict is Verdict.FITS:
        return Outcome.FITS if seen.fits else Outcome.WRONG_FITS
    return Outcome.WRONG_DOES_NOT_FIT if seen.fits else Outcome.DOES_NOT_FIT


def _is_never_by_nodes(answer: Answer) -> bool:
    """Only then others' pods can be what was in the way."""
    said = [one for one in answer.checks if one.verdict is Verdict.DOES_NOT_FIT]
    return [one.subject for one in said] == ["nodes"] and answer.when is When.NEVER


def complaints(found: Sequence[Judged]) -> list[str]:
    """Which of the bars these mixes miss. Of few mixes one may be wrong, or not be decided."""
    counted = Counter(one.outcome for one in found)
    said = []
    for outcome, part in (
        (Outcome.WRONG_DOES_NOT_FIT, 0.0),
        (Outcome.WRONG_NEVER, 0.0),
        (Outcome.WRONG_FITS, WRONG_FITS),
        (Outcome.CANT_SAY, CANT_SAY),
    ):
        most = allowed(part, len(found))
        if counted[outcome] > most:
            said.append(f"{counted[outcome]} of {len(found)}, {most} at most: {outcome.value}")
    return said


def allowed(part: float, number: int) -> int:
    """How many of so many mixes, when `part` of all may be.

    Of few, more: as many as chance exceeds once in a thousand runs.
    """
    if not part or part * number >= MANY:
        return int(part * number)
    chance = likely = (1 - part) ** number
    most = 0
    while likely < SURELY:
        most += 1
        chance *= (number - most + 1) / most * part / (1 - part)
        likely += chance
    return most


def figures(found: Iterable[Judged]) -> str:
    """How many of each outcome, a line each."""
    counted = Counter(one.outcome for one in found)
    return "\n".join(f"{counted[outcome]:4}  {outcome.value}" for outcome in Outcome)


def _short(node: dict[str, object]) -> dict[str, object]:
    return {key: node[key] for key in ("metadata", "spec", "status")}
