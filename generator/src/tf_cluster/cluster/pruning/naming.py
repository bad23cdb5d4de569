"""Who in a namespace names runs: tasks of trainings by their label, all others by what they say.

What a pod says are its command, arguments, variables, annotations and sub-paths; a ConfigMap says
its texts. `…/digits/1/export`, and `digits/1` alone, name the run 1 of the training digits; a path
that ends in the training's directory names all its runs.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.workloads import (
    Object,
    claims_of,
    containers,
    directory,
    has_ended,
    marks_of,
    template_of,
)

OURS = ("tensorboard", "notebook", "cleanup", "test", "prune", "serving-client")
"""Components beside the tasks that serve no model, and whose end is a person's to choose."""
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_WORD = re.compile(r"[A-Za-z0-9._/-]+")


@dataclass
class Names:
    """Who names which run; `strangers` mount the claim and name none.

    Of a training, or of a run whatever its training, the other one is empty in `runs`.
    """

    runs: dict[tuple[str, str], str] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)

    def of_run(self, training: str, run: str) -> str:
        """Who names a run, in words; empty where nobody does."""
        for key in ((training, run), (training, ""), ("", run)):
            if key in self.runs:
                return f"{self.runs[key]} names it"
        return ""

    def add(self, training: str, run: str, who: str) -> None:
        """Note that somebody names a run. The first one is told."""
        self.runs.setdefault((training, run), who)


def names(found: Iterable[tuple[str, Object]], claim: str, trainings: Container[str]) -> Names:
    """What all of them name, of the runs on a claim. `trainings` are the directories on it."""
    made = Names()
    for kind, one in found:
        metadata = one.get("metadata") or {}
        who = f"{kind}/{metadata.get('name')}"
        if kind == "configmap":
            _add_said(made, who, _texts(one.get("data")), trainings)
            continue
        template, spec = template_of(kind, one)
        if own := directory(kind, one):
            made.add(*own, who)
        is_task = labels.ATTEMPT in marks_of(template)
        is_ours = marks_of(template).get(labels.COMPONENT) in OURS
        if not is_task and (is_ours or has_ended(kind, one)):
            continue
        has_named = _add_said(made, who, _said(metadata, template, spec), trainings)
        if not is_task and not has_named and claim in claims_of(spec).values():
            made.strangers.append(who)
    return made


def _said(metadata: Object, template: Object, spec: Object) -> Iterator[str]:
    """All texts of an object in which a path may stand. Sub-paths begin at the volume."""
    for notes in (metadata.get("annotations"), template.get("annotations")):
        for name, text in (notes or {}).items():
            if name != _LAST_APPLIED:
                yield str(text)
    for one in containers(spec):
        yield from map(str, (*(one.get("command") or ()), *(one.get("args") or ())))
        for variable in one.get("env") or ():
            yield str(variable.get("value") or "")
        for mount in one.get("volumeMounts") or ():
            yield f"/{mount.get('subPath') or mount.get('subPathExpr') or ''}"


def _texts(data: Any) -> Iterator[str]:
    if isinstance(data, Mapping):
        yield from map(str, data.values())


def _add_said(made: Names, who: str, texts: Iterable[str], trainings: Container[str]) -> bool:
    """Note what texts name; whether that is of a training at all."""
    has_named = False
    for text in texts:
        for training, run in said(text):
            if training in trainings:
                made.add(training, run, who)
                has_named = True
    return has_named


def said(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of names that follow each other in the paths of a text.

    The last name of a path is given alone, too, with an empty run.
    """
    for word in _WORD.findall(text):
        if "/" not in word:
            continue
        parts = [part.strip("._-") for part in word.split("/")]
        named = [part for part in parts if part]
        yield from pairwise(named)
        if named:
            yield named[-1], ""
