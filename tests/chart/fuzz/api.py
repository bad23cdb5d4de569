"""One HTTP client for a real API server, which is asked what it would say to an object."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

import yaml

from tests.chart.helm import LOADER

# The client's own ten seconds are too few beside all other cases.
ANSWER_SECONDS = 120


@dataclass(frozen=True)
class ApiServer:
    """Server-side dry runs in one namespace."""

    client: Any  # pykube's
    namespace: str
    absent: frozenset[str]
    """Kinds that it has not."""
    taken: set[str] = field(default_factory=set, compare=False)
    """What it has taken, without the attempt's hash: many releases have the same claims, say."""

    def objections(self, text: str) -> list[str]:
        """What it says to the objects of a rendering, and to the pods of their templates.

        What it has taken before it is not asked again.
        """
        attempt = re.search(r'tf-cluster\.io/attempt: "?([^"\s]+)', text)
        said: list[str] = []
        for document in documents(text):
            obj = yaml.load(document, LOADER)
            plain = document.replace(attempt[1], "") if attempt else document
            if obj["kind"] in self.absent or plain in self.taken:
                continue
            words = [] if obj["kind"] == "Pod" else [self.refuses(document)]
            template = obj if obj["kind"] == "Pod" else obj.get("spec", {}).get("template")
            if template:
                words.append(self.refuses_pod(obj["metadata"]["name"], template))
            said += filter(None, words)
            if not any(words):
                self.taken.add(plain)
        return said

    def refuses(self, document: str) -> str:
        """What is said to a YAML document that Helm 4 would apply; nothing when it is taken.

        The text goes as it is: the server reads it, and not Python's YAML.
        """
        obj = yaml.load(document, LOADER)
        place = f"{plural(obj['kind'])}/{obj['metadata']['name']}"
        query = {
            "dryRun": "All",
            "fieldManager": "helm",
            "fieldValidation": "Strict",
            "force": "true",
        }
        answer = self.client.patch(
            version=obj["apiVersion"],
            namespace=self.namespace,
            url=place,
            params=query,
            data=document.encode(),
            headers={"Content-Type": "application/apply-patch+yaml"},
            timeout=ANSWER_SECONDS,
        )
        return _said(place, answer)

    def refuses_pod(self, name: str, template: dict[str, Any]) -> str:
        """What is said to a pod of a template, without what it names and nobody has made."""
        others = ("serviceAccountName", "priorityClassName", "runtimeClassName", "schedulerName")
        spec = {key: part for key, part in template["spec"].items() if key not in others}
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {**template.get("metadata", {}), "name": name},
            "spec": spec,
        }
        answer = self.client.post(
            version="v1",
            namespace=self.namespace,
            url="pods",
            params={"dryRun": "All", "fieldValidation": "Strict"},
            data=json.dumps(pod),
            headers={"Content-Type": "application/json"},
            timeout=ANSWER_SECONDS,
        )
        return _said(f"pod {name}", answer)


def documents(text: str) -> list[str]:
    """The YAML documents of a rendering."""
    return [part for part in text.split("\n---\n") if yaml.load(part, LOADER)]


def plural(kind: str) -> str:
    """The kind's word in a URL."""
    word = kind.lower()
    if word.endswith("s"):
        return f"{word}es"
    return f"{word[:-1]}ies" if word.endswith("y") else f"{word}s"


def _said(what: str, answer: Any) -> str:
    """A refusal; a warning is none (of a fraction of a byte, say)."""
    if answer.status_code < 300:
        return ""
    return f"{what}: {answer.status_code} {answer.json().get('message', answer.text)}"


MORE = ("podSecurityContext", "containerSecurityContext", "securityContext", "extraVolumes")


def asks_for_more(values: Any) -> bool:
    """Whether the values may leave what Pod Security `restricted` lets in."""
    if isinstance(values, dict):
        return any(key in MORE or asks_for_more(part) for key, part in values.items())
    return isinstance(values, list) and any(asks_for_more(part) for part in values)
