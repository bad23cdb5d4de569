"""What `tf-cluster explain` prints: a key, a code, or the list of keys."""

import re
from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any

from tf_cluster.checks import CODES
from tf_cluster.cluster.doctor.rules import RULES
from tf_cluster.exits import RefusedError
from tf_cluster.expand.expand import leaves, value_paths
from tf_cluster.expand.preset import PRESETS
from tf_cluster.explain.keys import Key, find_key, key_at, keys_of_params, root
from tf_cluster.findings.finding import Code
from tf_cluster.params.schema_files import chart_values
from tf_cluster.params.wording import choices, excerpt, needed
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.printable import cut, printable
from tf_cluster.yaml.reader import read_document

_COLUMNS = 80
_CODE = re.compile(r"TF[CD]\d+", re.IGNORECASE | re.ASCII)
_LARGE = 2**31 - 1
"""From here on a bound is that of a number's size, which nobody asks for."""
_FRAME = ("name", "image", "program")
_OF_ANY_KEY = "TFC3"
"""Codes before are about the form of a file: any key may have them."""


def explained(asked: str) -> str:
    """The text on a key or a code; on all keys for an empty text. Raises RefusedError."""
    if _CODE.fullmatch(asked):
        return _of_code(asked.upper())
    return _of_key(find_key(asked)) if asked else _keys_of(root())


def known() -> list[str]:
    """The keys of params files, and the codes."""
    return [*(key.name for key in keys_of_params(root())), *CODES, *(rule.code for rule in RULES)]


def _of_code(asked: str) -> str:
    rule = next((rule for rule in RULES if rule.code == asked), None)
    if rule:
        mend = _filled(f"Mend: {rule.mend}")
        seen = _filled(f"Seen by: {rule.evidence}")
        return f"{rule.code}: {rule.about}\n\n{_filled(rule.why)}\n{seen}\n{mend}"
    code = next((code for code in CODES if code == asked), None)
    if code is None:
        raise RefusedError(
            f"there is no code {cut(asked)} (docs/codes.md and docs/doctor.md list all)"
        )
    wrong, right = (
        "".join(f"  {printable(line)}\n" for line in example.split("\n"))
        for example in (code.wrong, code.right)
    )
    return f"{code}: {code.about}\n\n{_filled(code.why)}\nWrong:\n{wrong}\nRight:\n{right}"


def _of_key(key: Key) -> str:
    rows = [("is", _kind(key.rules)), *_defaults(key)]
    rows.append(("becomes", " and ".join(map(dotted, value_paths(key.path)))))
    codes = [f"{code} {code.about}" for code in codes_of(key)]
    rows += [("codes" if not index else "", code) for index, code in enumerate(codes)]
    title = f"{printable(key.name)}{' (required)' if key.required else ''}\n"
    table = "".join(_row(name, words) for name, words in rows if words)
    return "\n".join(filter(None, (title, _filled(key.description), table, _keys_of(key))))


def _keys_of(key: Key) -> str:
    """A line for each key below: its name and the first sentence on it."""
    rows = [(str(one.path[-1]), one.description.partition(". ")[0]) for one in key.inner()]
    width = max((len(name) for name, _ in rows), default=0)
    return "".join(_row(name, words.rstrip("."), width) for name, words in rows)


def _row(name: str, words: str, width: int = 7) -> str:
    indent = " " * (width + 2)
    return _filled(words, f"{name:{width}}  ", indent)


def _filled(words: str, first: str = "", then: str = "") -> str:
    text = fill(
        printable(words),
        _COLUMNS,
        initial_indent=first,
        subsequent_indent=then,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return f"{text}\n" if text else ""


def _kind(rules: Mapping[str, Any]) -> str:
    """What may be written there."""
    if "enum" in rules:
        return choices(rules["enum"])
    if "type" not in rules:
        return ""
    words = needed(rules["type"])
    if isinstance(rules.get("items"), Mapping) and (inner := _kind(rules["items"])):
        words = words.replace("a list", f"a list, each item {inner}")
    bounds = [
        f"{sign} {rules[bound]}"
        for bound, sign in (
            ("minimum", "at least"),
            ("exclusiveMinimum", "more than"),
            ("maximum", "at most"),
        )
        if bound in rules and rules[bound] < _LARGE
    ]
    form = [str(rules["x-form"])] if "x-form" in rules else []
    return ", ".join([words, *bounds]) + (f": {form[0]}" if form else "")


def _defaults(key: Key) -> Iterator[tuple[str, str]]:
    """The chart's default, and what each preset sets in its place."""
    paths = value_paths(key.path)
    if len(paths) != 1:
        return
    for name, values in (("default", chart_values()), *PRESETS.items()):
        decided = value_at(values, paths[0])
        if decided is not None and not isinstance(decided, Mapping):
            yield name, excerpt(decided)


def codes_of(key: Key) -> list[Code]:
    """The codes whose wrong or right file has the key, or one below it."""
    return [
        code
        for code in CODES
        if code > _OF_ANY_KEY and any(_is_part(path, key) for path in _paths(code))
    ]


def _is_part(path: Pointer, key: Key) -> bool:
    if path[: len(key.path)] == key.path:
        return True
    there = key_at(path)
    return bool(key.alike and there and there.alike[: len(key.alike)] == key.alike)


def _paths(code: Code) -> set[Pointer]:
    """What a code's files have. The program is there for their code's sake, if it is equal."""
    wrong, right = (_leaves(example) for example in (code.wrong, code.right))
    every = {*wrong, *right}
    about = {p for p in every if p[0] not in _FRAME or wrong.get(p) != right.get(p)}
    return about or every


def _leaves(example: str) -> dict[Pointer, Any]:
    params = example.partition("\n### ")[0]
    return dict(leaves(read_document("example", params.encode()).data))
