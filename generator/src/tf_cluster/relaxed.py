"""Leaves out the advice that a file ignores by name, with a reason, and holds it to its words."""

from collections.abc import Container, Iterator
from itertools import islice

from tf_cluster.findings.finding import MOST_FINDINGS, Code, Finding, Place
from tf_cluster.params.ignores import IGNORES_NOTHING, NO_IGNORE, Ignore, ignores
from tf_cluster.yaml.document import Document


def relaxed(
    document: Document,
    text: str,
    found: list[Finding],
    advice: Container[str],
    *,
    whole: bool,
) -> list[Finding]:
    """The findings without those that comments of `text` ignore, and what is wrong with these.

    `advice` are all codes that may be ignored. `whole` is False where not all advice was looked
    for: then a comment that ignores nothing is not told.
    """
    comments = ignores(text)
    if not comments:
        return found
    by_line: dict[int, list[Ignore]] = {}
    for comment in comments:
        by_line.setdefault(comment.line, []).append(comment)
    used: set[tuple[Place, str]] = set()
    left = []
    for one in found:
        lines = {one.place.line, document.spot(one.pointer).key.line}
        near = (comment for line in lines for comment in by_line.get(line, ()))
        by = [comment for comment in near if comment.is_right and one.code in comment.codes]
        if one.severity != "advice" or not by:
            left.append(one)
        used |= {(comment.place, one.code) for comment in by}
    wrong = (
        Finding(document.file, comment.place, code, message, fix=fix, severity="warning")
        for comment in comments
        for code, message, fix in _wrong(comment, advice, used, whole)
    )
    return [*left, *islice(wrong, MOST_FINDINGS)]


def _wrong(
    comment: Ignore, advice: Container[str], used: Container[tuple[Place, str]], whole: bool
) -> Iterator[tuple[Code, str, str]]:
    form = "write # tf-cluster: ignore TFC405 and why"
    if comment.verb != "ignore":
        yield NO_IGNORE, f"'{comment.verb}' is no word of tf-cluster's", form
    elif not comment.codes:
        yield NO_IGNORE, "a comment that ignores no code", form
    elif not comment.why:
        yield NO_IGNORE, f"{', '.join(comment.codes)} is ignored without a reason", "add why"
    for code in comment.codes:
        if code not in advice:
            message = f"{code} is no advice, and can't be ignored"
            yield NO_IGNORE, message, "mend what it says, and leave the comment out"
        elif comment.is_right and whole and (comment.place, code) not in used:
            message = f"there is no {code} on line {comment.line} to ignore"
            yield IGNORES_NOTHING, message, "leave the comment out"
