"""Reads a params file as it was meant, so that one mistake does not hide others.

A mistyped key or word is read as the one that it resembles, and an unquoted number as the text that
is needed there. The mistake is a finding; what stands below and beside is checked all the same.
Where the fix is one text in place of another, the finding has it as its repair. A key of
another chart is no mistyped one, whatever it resembles.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.findings.finding import Code, Finding, Repair
from tf_cluster.params.forms import closest_form, closest_number, may_be, other_form
from tf_cluster.params.go_validator import is_of_type, matches
from tf_cluster.params.other_charts import suggestion
from tf_cluster.params.schema_files import (
    one_level,
    params_schema,
    resolved,
    types_of,
    values_schema,
)
from tf_cluster.params.schema_violations import (
    ANY_FORM,
    CHART_REFUSES,
    NOT_A_CHOICE,
    WRONG_FORM,
    WRONG_TYPE,
    Violation,
    did_you_mean,
    key_paths,
    unknown_key,
)
from tf_cluster.params.spelling import Likely, folded, likely
from tf_cluster.params.synonyms import ELSEWHERE, NAMES, SENTENCES
from tf_cluster.params.wording import choices, excerpt, kind_of, needed
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut
from tf_cluster.yaml.document import Document
from tf_cluster.yaml.helm_scalars import (
    AMBIGUOUS,
    NOT_FINITE,
    TOO_LARGE_NUMBER,
    Scalar,
    in_quotes,
    quoted,
    scalar,
    unquoted,
)

_OF_A_VALUE = (AMBIGUOUS, NOT_FINITE, TOO_LARGE_NUMBER)

_MOST_GUESSES = 1_000
"""After so many different keys and words that are not known no more are guessed at."""

Node = Mapping[str, Any]


@dataclass(frozen=True)
class Mended:
    """A document as it was meant, and what was mended.

    Its paths have the right keys; `as_written` gives the file's. `texts` are the paths of values
    that are read as texts although the file has them without quotes. `clear` are those of values
    that the reader has a finding on, and whose meaning is clear all the same; `odd_keys` those of
    such keys.
    """

    document: Document
    violations: tuple[Violation, ...]
    written: Mapping[Pointer, Pointer]
    texts: frozenset[Pointer]
    clear: frozenset[Pointer]
    odd_keys: frozenset[Pointer]

    def as_written(self, path: Pointer) -> Pointer:
        """A path of the mended document as the file has it."""
        return _replaced(path, self.written)


def mended(document: Document) -> Mended:
    """Mend mistakes for which the schemas of params and values leave only one meaning."""
    mender = _Mender(document)
    data = mender.mapping(document.data, params_schema(), params_schema(), (), ())
    spots = {mender.moved(path): spot for path, spot in document.spots.items()}
    return Mended(
        replace(document, data=data, spots=spots, findings=mender.findings()),
        tuple(mender.violations),
        mender.written,
        frozenset(mender.texts),
        frozenset(mender.clear),
        frozenset(mender.odd_keys),
    )


def _replaced(path: Pointer, others: Mapping[Pointer, Pointer]) -> Pointer:
    """A path with its longest beginning in `others` replaced."""
    if others:
        for end in range(len(path), 0, -1):
            if path[:end] in others:
                return others[path[:end]] + path[end:]
    return path


class _Mender:
    def __init__(self, document: Document) -> None:
        self.spots = document.spots
        self.violations: list[Violation] = []
        self.written: dict[Pointer, Pointer] = {}  # paths that the file has elsewhere, and where
        self.texts: set[Pointer] = set()
        self.clear: set[Pointer] = set()
        self.odd_keys: set[Pointer] = set()
        self._found = list(document.findings)
        self._moved: dict[Pointer, Pointer] = {}  # the same from the file's paths to those meant
        self._guesses: dict[tuple[str, tuple[str, ...]], Likely | None] = {}
        self._on_values: dict[Pointer, int] = {}
        self._on_keys: set[Pointer] = set()
        for index, finding in enumerate(self._found):
            if finding.pointer not in self.spots:
                continue
            if finding.code in _OF_A_VALUE and finding.value is not None:
                self._on_values[finding.pointer] = index
            elif finding.code == AMBIGUOUS:
                self._on_keys.add(finding.pointer)

    def findings(self) -> tuple[Finding, ...]:
        """What the reader found, with the paths of the mended document."""
        if not self._moved:
            return tuple(self._found)
        return tuple(replace(f, pointer=self.moved(f.pointer)) for f in self._found)

    def moved(self, path: Pointer) -> Pointer:
        """A path of the file, in the mended document."""
        return _replaced(path, self._moved)

    def value(self, value: Any, node: Node, schema: Node, path: Pointer, written: Pointer) -> Any:
        """The value at `path` (in the file at `written`) as it was meant."""
        node = resolved(node, schema)
        if path == ("extraValues",):
            node = schema = values_schema()
        value = self._in_form(value, node, schema, path, written)
        if isinstance(value, dict):
            return self.mapping(value, node, schema, path, written)
        if isinstance(value, list):
            items = node.get("items", {})
            return [
                self.value(item, items, schema, (*path, i), (*written, i))
                for i, item in enumerate(value)
            ]
        return self.scalar(value, node, path, written)

    def _in_form(
        self, value: Any, node: Node, schema: Node, path: Pointer, written: Pointer
    ) -> Any:
        """A short form of a mapping or of a list, written out."""
        types = types_of(node)
        told = not isinstance(value, str) and written in self._on_values  # `yes`, by the reader
        if told or not types or "string" in types:
            return value
        form = other_form(value, path, types, one_level(node, schema))
        if form is None:
            return value
        wanted = needed(node["type"])
        message = f"{dotted(path)} is {excerpt(value)}, {kind_of(value)}; {wanted} is needed"
        fix = f"write it as a {'list' if isinstance(form.value, list) else 'mapping'}: "
        fix += cut(form.text, 100)
        code, repair = _code(path, WRONG_TYPE), Repair(form.text, form.safe)
        self.violations.append(Violation(code, path, message, fix, value, repair=repair))
        if isinstance(form.value, dict):  # the file's one value is that of the key
            (key,) = form.value
            here = (*path, key)
            self.written[here] = written
        return form.value

    def mapping(
        self, data: dict[str, Any], node: Node, schema: Node, path: Pointer, written: Pointer
    ) -> dict[str, Any]:
        """A mapping with the keys that were meant."""
        known = node.get("properties", {})
        others = node.get("additionalProperties", {})
        is_ours = others is False and path[:1] != ("extraValues",)
        below = self._places_below(data, known, schema, path) if is_ours else {}
        result: dict[str, Any] = {}
        for key in sorted(data, key=below.__contains__):  # last those that go into another's value
            if key in below and self._place(key, data[key], below[key], result, node, schema, path):
                continue
            value = data[key]
            right, sure = key, False
            if others is False and key not in known:
                right, sure = self._right_key(key, value, known, schema, data, path)
                if right in result:  # two keys resemble the same one: take the first
                    right = key
            here, there = (*path, right), (*written, key)
            if right != key:
                self.written[here] = there
                self._moved[there] = here
                violation = unknown_key(here, key, dotted(path), did_you_mean(right))
                code = _code(path, violation.code)
                repair = Repair(unquoted(right), sure, at_key=True)
                self.violations.append(replace(violation, code=code, repair=repair))
            if there in self._on_keys:
                self.odd_keys.add(here)
            inner = known.get(right, others if isinstance(others, dict) else {})
            result[right] = self.value(value, inner, schema, here, there)
        return result

    def _right_key(
        self,
        key: str,
        value: Any,
        known: Node,
        schema: Node,
        data: dict[str, Any],
        path: Pointer,
    ) -> tuple[str, bool]:
        """The key that is meant by one that is not known, or that key itself."""
        if key.partition(":")[0] in known:  # a blank is missing: {steps:3}
            return key, False
        right = self._likely(key, tuple(one for one in known if one not in data))
        if right is None or (not right.sure and _of_another_chart(key, path)):
            return key, False
        node = resolved(known[right.word], schema)
        if not may_be(value, node, schema, (*path, right.word), sure=right.sure):
            return key, False  # a section with settings is not the one setting of that name
        return right

    def _likely(self, word: str, words: tuple[str, ...]) -> Likely | None:
        """The one of `words` that is meant; None also for a new word after so many guesses."""
        guess = (word, words)
        if guess not in self._guesses and len(self._guesses) < _MOST_GUESSES:
            self._guesses[guess] = likely(word, words)
        return self._guesses.get(guess)

    def _places_below(
        self, data: dict[str, Any], known: Node, schema: Node, path: Pointer
    ) -> dict[str, Pointer]:
        """The keys of a mapping that belong further down, with their paths there."""
        unknown = [key for key in data if key not in known and folded(key) not in SENTENCES]
        unknown = unknown[:_MOST_GUESSES]
        places = _places(known, schema) if unknown else {}
        below: dict[str, Pointer] = {}
        for key in unknown:
            target: Pointer = ELSEWHERE.get(folded(key), ())
            is_below = len(target) > len(path) + 1 and target[: len(path)] == path
            right = target[len(path) :] if is_below else places.get(key, ())
            if right and (is_below or not _of_another_chart(key, path)):
                below[key] = right
        return below

    def _place(
        self,
        key: str,
        value: Any,
        below: Pointer,
        result: dict[str, Any],
        node: Node,
        schema: Node,
        path: Pointer,
    ) -> bool:
        """Put a value further down; False where the file has something there, or on the way."""
        for part in below:
            node = resolved(node.get("properties", {}).get(part, {}), schema)
        if not may_be(value, node, schema, (*path, *below), sure=False):
            return False
        words = node.get("enum", ())
        if words and value not in words and self._likely(str(value), tuple(words)) is None:
            return False
        form = other_form(value, (*path, *below), types_of(node), one_level(node, schema))
        if form and isinstance(form.value, dict):
            below = (*below, *form.value)
            node = resolved(node["properties"][below[-1]], schema)
        inner = result
        for part in below[:-1]:
            inner = inner.get(str(part), {})
            if not isinstance(inner, dict):
                return False
        if below[-1] in inner:
            return False
        here, there = (*path, *below), (*_replaced(path, self.written), key)
        self.written[here] = there
        self._moved[there] = here
        fix = f"did you mean {dotted(here)}?"
        self.violations.append(unknown_key(here, key, dotted(path), fix))
        inner = result
        for part in below[:-1]:
            inner = inner.setdefault(str(part), {})
        inner[str(below[-1])] = self.value(value, node, schema, here, there)
        return True

    def scalar(self, value: Any, node: Node, path: Pointer, written: Pointer) -> Any:
        """The value in the type and form that is needed, if there is only one way to read it so."""
        value = self._typed(value, node, path, written)
        if not isinstance(value, str):
            return value
        words = node.get("enum", ())
        if words and value not in words:
            right = self._likely(value, tuple(words))
            if right is None:
                return value
            message = f"{dotted(path)} is {excerpt(value)}, not {choices(words)}"
            code, repair = _code(path, NOT_A_CHOICE), Repair(unquoted(right.word), right.sure)
            fix = did_you_mean(right.word)
            self.violations.append(Violation(code, path, message, fix, value, repair=repair))
            return right.word
        pattern = node.get("pattern", "")
        if pattern and not matches(pattern, value):
            close = closest_form(path, value)
            if close and matches(pattern, close):
                message = f"{dotted(path)} is {excerpt(value)}, not {node.get('x-form', ANY_FORM)}"
                repair = Repair(unquoted(close), safe=False)
                fix = did_you_mean(cut(close))
                found = Violation(_code(path, WRONG_FORM), path, message, fix, value, repair=repair)
                self.violations.append(found)
                return close
        return value

    def _typed(self, value: Any, node: Node, path: Pointer, written: Pointer) -> Any:
        types = types_of(node)
        plain = self.spots[written].plain if written in self.spots else None
        if plain is not None and written in self._on_values:
            return self._told_value(value, plain, types, path, self._on_values[written])
        if not types:
            return value
        code = _code(path, WRONG_TYPE)
        is_number = isinstance(value, (bool, int, float)) and path not in NAMES
        if types == {"string"} and plain and is_number:
            message = f"{dotted(path)} is {cut(plain)}, {kind_of(value)}; a text is needed"
            fix = f"write it in quotes: {quoted(plain)}"
            repair = Repair(in_quotes(plain), safe=True)
            self.violations.append(Violation(code, path, message, fix, value, repair=repair))
            self.texts.add(path)
            return plain
        if isinstance(value, str) and value and plain is None and "string" not in types:
            typed = scalar(value)
            if _fits(typed.value, types) and typed.code != TOO_LARGE_NUMBER:
                fix = typed.meant or "write it without quotes"
                repair = Repair(typed.clear or value, safe=_is_sure(typed))
                self._is_a_text(value, node, path, fix, repair)
                return typed.value
        number = closest_number(path, value, types) if isinstance(value, str) else None
        if number is not None and "string" not in types and types & {"integer", "number"}:
            repair = Repair(str(number), safe=False)
            self._is_a_text(value, node, path, f"did you mean {number}?", repair)
            return number
        return value

    def _is_a_text(self, value: str, node: Node, path: Pointer, fix: str, repair: Repair) -> None:
        wanted = needed(node["type"])
        message = f"{dotted(path)} is {excerpt(value)}, a text; {wanted} is needed"
        code = _code(path, WRONG_TYPE)
        self.violations.append(Violation(code, path, message, fix, value, repair=repair))

    def _told_value(
        self, value: Any, plain: str, types: set[str], path: Pointer, index: int
    ) -> Any:
        """A value that the reader has a finding on, whose fix is adapted to the needed type."""
        typed = scalar(plain)
        needs_text = types == {"string"} or (value is not None and not _fits(value, types))
        if "string" in types and needs_text:
            fix = f"write it in quotes: {quoted(plain)}"
            repair = Repair(in_quotes(plain), safe=True)
            self._found[index] = replace(self._found[index], fix=fix, repair=repair)
            self.texts.add(path)
            return plain
        if types and "string" not in types:
            repaired = typed.clear and _fits(value, types)
            self._found[index] = replace(
                self._found[index],
                fix=typed.meant,
                repair=Repair(typed.clear, _is_sure(typed)) if repaired else None,
            )
        if typed.clear and (not types or _fits(value, types)):
            self.clear.add(path)
        return value


def _of_another_chart(key: str, path: Pointer) -> bool:
    in_params = path[:1] != ("extraValues",)
    return suggestion(key, path if in_params else path[1:], in_params=in_params) != ""


def _is_sure(typed: Scalar) -> bool:
    """Whether a scalar means the same to a person as to Helm: `yes` does, `017` need not."""
    return not typed.code or isinstance(typed.value, bool)


def _places(known: Node, schema: Node) -> dict[str, Pointer]:
    """The keys further down that have only one place there."""
    places: dict[str, Pointer | None] = {}
    for path in key_paths(schema, {"properties": known}):
        if len(path) > 1:
            places[str(path[-1])] = None if path[-1] in places else path
    return {key: path for key, path in places.items() if path}


def _code(path: Pointer, code: Code) -> Code:
    """In extraValues every violation has the chart's code."""
    return CHART_REFUSES if path[:1] == ("extraValues",) else code


def _fits(value: Any, types: set[str]) -> bool:
    return any(is_of_type(value, kind) for kind in types)
