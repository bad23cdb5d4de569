"""Comments that relax advice: `# tf-cluster: ignore TFC405 why`, on a key's line or above it."""

import re
from bisect import bisect
from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from tf_cluster.findings.finding import Code, Place
from tf_cluster.params.spelling import meant
from tf_cluster.yaml.reader import NodeLoader

NO_IGNORE = Code(
    "TFC120",
    "a comment that would ignore advice, and does not (warning)",
    why=(
        "Advice is ignored by its code, with a reason that the next reader sees. Errors and "
        "warnings can't be ignored."
    ),
    wrong=("# tf-cluster: ignore TFC305 it fits\nworkers: 3"),
    right="workers: 3",
)
IGNORES_NOTHING = Code(
    "TFC121",
    "a comment that ignores advice which is not there (warning)",
    why=(
        "The reason is gone, or the comment stands on another line than the key. One day it "
        "would hide what nobody has looked at."
    ),
    wrong=("# tf-cluster: ignore TFC405 our steps are slow\ntrain: {checkpoint: {seconds: 600}}"),
    right="train: {checkpoint: {seconds: 600}}",
)

_MARK = "tf-cluster:"
_COMMENT = re.compile(r"(?:^|(?<=[ \t]))#[ \t]*tf-cluster:[ \t]*([A-Za-z]+)[ \t]*([^\r]*)")
_CODES = re.compile(r"(TFC\d+(?:[ \t,]+TFC\d+)*)\b[ \t]*,?[ \t]*(.*)", re.IGNORECASE)
_BARE = re.compile(r"[ \t]*(#.*|---[ \t]*)?\r?$")
_VERB = "ignore"
_END = (1 << 31, 0)
_LIKE_IT = (_VERB, "disable", "noqa", "nolint", "skip", "allow", "suppress")


@dataclass(frozen=True)
class Ignore:
    """A comment that ignores advice: where it stands, the line that it is about, codes and why.

    `verb` is its first word, which may be a mistyped one.
    """

    place: Place
    line: int
    verb: str
    codes: tuple[str, ...]
    why: str

    @property
    def is_right(self) -> bool:
        """Whether it says what is ignored and why."""
        return self.verb == _VERB and bool(self.codes) and bool(self.why)


def ignores(text: str) -> list[Ignore]:
    """The comments of a text that ignore advice, or were meant to."""
    return list(_found(text)) if _MARK in text else []


def _found(text: str) -> Iterator[Ignore]:
    lines = text.split("\n")
    places = [
        (number, match)
        for number, line in enumerate(lines)
        for match in [_COMMENT.search(line)]
        if match and (match.group(1) in _LIKE_IT or meant(match.group(1), [_VERB]))
    ]
    spans = list(_texts(text)) if places else []
    below = _next_lines(lines) if places else []
    for number, match in places:
        start = (number, match.start())
        last = bisect(spans, (start, _END)) - 1
        if last >= 0 and start < spans[last][1]:
            continue
        stands_alone = not lines[number][: match.start()].strip()
        codes = _CODES.match(match.group(2))
        yield Ignore(
            Place(number + 1, match.start() + 1),
            1 + (below[number] if stands_alone else number),
            match.group(1),
            _listed(codes.group(1)) if codes else (),
            codes.group(2).strip(" \t-:\u2013\u2014") if codes else "",
        )


def _listed(codes: str) -> tuple[str, ...]:
    """Codes without their commas, each once."""
    return tuple(dict.fromkeys(re.findall(r"TFC\d+", codes.upper())))


def _next_lines(lines: list[str]) -> list[int]:
    """For each line the next one that is more than a comment, or itself if there is none."""
    below = list(range(len(lines)))
    for number in range(len(lines) - 2, -1, -1):
        is_bare = _BARE.match(lines[number + 1])
        below[number] = below[number + 1] if is_bare else number + 1
    return below


def _texts(text: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where quoted texts and blocks stand, in which a `#` begins no comment."""
    for token in yaml.scan(text, Loader=NodeLoader):
        if isinstance(token, yaml.ScalarToken) and not token.plain:
            start, end = token.start_mark, token.end_mark
            begin = (start.line, start.column)
            # a block's own line may end in a comment
            yield (
                (start.line + 1, 0) if token.style in ("|", ">") else begin,
                (end.line, end.column),
            )
