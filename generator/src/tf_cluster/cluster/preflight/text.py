"""What preflight answers, for people and for programs."""

from typing import Any

from tf_cluster.cluster.preflight.answer import Answer, Check, Verdict, When
from tf_cluster.printable import printable_lines

_VERDICTS = {
    Verdict.FITS: "fits",
    Verdict.CANT_SAY: "can't say",
    Verdict.DOES_NOT_FIT: "does not fit",
}
_WHEN = {When.NOT_NOW: "not now", When.NEVER: "never"}


def answer_text(answer: Answer) -> str:
    """A line for each check, and the answer."""
    width = max(len(_told(one.verdict, one.when)) for one in answer.checks)
    subject = max(len(one.subject) for one in answer.checks)
    lines = [
        f"{one.subject:{subject}}  {_told(one.verdict, one.when):{width}}  {one.message}"
        for one in answer.checks
    ]
    lines.append(f"{answer.name}: {_told(answer.verdict, answer.when)}")
    return printable_lines("\n".join(lines) + "\n")


def answer_json(answer: Answer) -> dict[str, Any]:
    """The answer in the form of preflight.schema.json."""
    return {
        "format": "tf-cluster.io/preflight/v1",
        "name": answer.name,
        "namespace": answer.namespace,
        "verdict": answer.verdict.value,
        "when": answer.when.value if answer.when else "",
        "checks": [_check(one) for one in answer.checks],
    }


def _check(one: Check) -> dict[str, str]:
    return {
        "check": one.subject,
        "verdict": one.verdict.value,
        "when": one.when.value if one.when else "",
        "message": one.message,
    }


def _told(verdict: Verdict, when: When | None) -> str:
    return _VERDICTS[verdict] + (f": {_WHEN[when]}" if when else "")
