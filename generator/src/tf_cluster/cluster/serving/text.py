"""What the verbs of serving print: answers, copies and promotions, as text and as JSON."""

import json
from collections.abc import Mapping
from typing import Any

from tf_cluster.cluster.pruning.volume import size_text
from tf_cluster.cluster.serving.asking import Answer, Published, Question
from tf_cluster.cluster.serving.promotion import PREVIOUS, STABLE, Wanted
from tf_cluster.cluster.serving.servers import Server
from tf_cluster.printable import printable

ANSWER_FORMAT = "tf-cluster.io/answer/v1"
PUBLISHED_FORMAT = "tf-cluster.io/published/v1"
PROMOTION_FORMAT = "tf-cluster.io/promotion/v1"


def answer_text(question: Question, answer: Answer) -> str:
    """A line for each output, after what was asked; nothing where there is no answer."""
    if not answer.outputs and not answer.ok:
        return ""
    same = ""
    if answer.difference is not None:
        same = f", {answer.difference:g} from what was recorded"
    verb = "answers" if answer.is_one else "is served; no request is recorded, so it was not asked"
    lines = [f"{question.model} {question.version} {verb}{same}"]
    for name, one in sorted(answer.outputs.items()):
        lines.append(f"{name} {_tensor(one)}")
    return "".join(f"{printable(line)}\n" for line in lines)


def _tensor(one: Any) -> str:
    if not isinstance(one, Mapping):
        return json.dumps(one)
    shape = ", ".join(map(str, one.get("shape") or ()))
    return f"{one.get('dtype')} [{shape}] {json.dumps(one.get('values'))}"


def answer_json(server: Server, question: Question, answer: Answer) -> dict[str, Any]:
    """An answer as a JSON document."""
    return {
        "format": ANSWER_FORMAT,
        "namespace": server.namespace,
        "release": server.release,
        "model": question.model,
        "version": question.version,
        "state": answer.state,
        "ok": answer.ok,
        "difference": answer.difference,
        "outputs": dict(answer.outputs),
        "problem": answer.problem,
    }


def published_text(published: Published, source: str, target: str) -> str:
    """`version 3 of run 1 of digits is version 4 in models/digits (1.2 MiB)`."""
    size = size_text(published.size)
    line = f"version {published.source} of {source} is version {published.number} in {target}"
    return f"{printable(line)} ({size})\n"


def published_json(published: Published, namespace: str, source: str, target: str) -> Any:
    """The same as a JSON document."""
    return {
        "format": PUBLISHED_FORMAT,
        "namespace": namespace,
        "from": {"path": source, "version": published.source},
        "to": {"path": target, "version": published.number},
        "bytes": published.size,
    }


def wanted_text(model: str, wanted: Wanted) -> str:
    """What is loaded, and what the labels name."""
    labels = ", ".join(f"{label} is {version}" for label, version in wanted.labels.items())
    loaded = ", ".join(map(str, wanted.versions))
    return printable(f"{model}: {labels}; loaded: {loaded}") + "\n"


def promotion_json(
    server: Server | None, model: str, wanted: Wanted, *, is_whole: bool
) -> dict[str, Any]:
    """A promotion or a rollback as a JSON document; `server` is None where a file was edited."""
    return {
        "format": PROMOTION_FORMAT,
        "namespace": server.namespace if server else None,
        "release": server.release if server else None,
        "model": model,
        "stable": wanted.labels.get(STABLE),
        "previous": wanted.labels.get(PREVIOUS),
        "loaded": list(wanted.versions),
        "labels": dict(wanted.labels),
        "ended": is_whole,
    }
