"""Validates data against a schema and describes each violation in words."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from typing import Any

from jsonschema.exceptions import ValidationError

from tf_cluster.findings.finding import MOST_FINDINGS, Code, Repair
from tf_cluster.params import other_charts
from tf_cluster.params.forms import may_be
from tf_cluster.params.go_validator import GoLikeValidator
from tf_cluster.params.names import DNS_LABEL_LIMIT, longest_derived_name
from tf_cluster.params.schema_files import params_schema, resolved, types_of, values_schema
from tf_cluster.params.spelling import folded, likely
from tf_cluster.params.synonyms import ELSEWHERE, NAMES, OF_VALUES, SENTENCES
from tf_cluster.params.wording import (
    SCRIPT_ALONE,
    choices,
    either,
    excerpt,
    kind_of,
    module_fix,
    needed,
    type_fix,
)
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut
from tf_cluster.yaml.syntax_errors import TEMPLATE, TEMPLATE_FIX

UNKNOWN_KEY = Code(
    "TFC201",
    "unknown key",
    why="Nobody reads a key that is not known: the training would go on with the default.",
    wrong="wrokers: 4",
    right="workers: 4",
)
MISSING_KEY = Code(
    "TFC202",
    "a required key is missing",
    why="The values can't be made without it.",
    wrong="program: {path: /data/code}",
    right="program: {module: 'nets.digits:Digits', path: /data/code}",
)
WRONG_TYPE = Code(
    "TFC203",
    "a value of the wrong type",
    why="The chart and the trainer would refuse the value, or read another one.",
    wrong="workers: two",
    right="workers: 2",
)
NOT_A_CHOICE = Code(
    "TFC204",
    "not one of the words accepted here",
    why="Only these words have a meaning. There is no default for another one.",
    wrong="preset: tiny",
    right="preset: small",
)
OUT_OF_RANGE = Code(
    "TFC205",
    "a number or a length out of range",
    why="Kubernetes or the trainer would refuse it, mostly only after pods have started.",
    wrong="workers: 0",
    right="workers: 1",
)
WRONG_FORM = Code(
    "TFC206",
    "a text that has not the form needed",
    why="The text becomes a name, an address or an amount, and what reads that refuses it.",
    wrong="run: {id: second try}",
    right="run: {id: second-try}",
)
TWO_FORMS = Code(
    "TFC207",
    "two forms of which only one can be used",
    why="One of the two would have no effect, and the file does not say which one is meant.",
    wrong="program: {module: 'nets.digits:Digits', script: /data/train.py}",
    right="program: {module: 'nets.digits:Digits'}",
)
NAME_TOO_LONG = Code(
    "TFC301",
    "the names made from this name would be too long",
    why="Kubernetes allows 63 characters for the names of pods, which begin with this name.",
    wrong=(
        "name: handwritten-digits-of-the-second-experiment\n"
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}"
    ),
    right=(
        "name: handwritten-digits-2\n"
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}"
    ),
)
CHART_REFUSES = Code(
    "TFC311",
    "the chart does not accept this value",
    why=(
        "`helm install` would refuse the values, with words about values and not about this file."
    ),
    wrong="extraValues: {worker: {nodeSelector: ssd}}",
    right="extraValues: {worker: {nodeSelector: {disk: ssd}}}",
)


@dataclass(frozen=True)
class Violation:
    """One thing in the data that the schema refuses, without a place in a file.

    `one_of`: of a missing key, all that would do in its place.
    """

    code: Code
    path: Pointer
    message: str
    fix: str = ""
    value: Any = None
    at_key: bool = False
    repair: Repair | None = None
    one_of: tuple[str, ...] = ()


Named = Callable[[Pointer], Pointer]
"""Maps a path of the data to the path that the user wrote, for messages."""

_MEANT = "did you mean "

_ROLE = "worker"
"""The role that a setting of each role is looked for in."""

ANY_FORM = "in the form that is needed"
"""The words for a pattern whose schema has no x-form."""

_MOST_SUGGESTIONS = 200
"""Most unknown keys of one mapping that get a suggestion."""


def violations(
    data: Any, schema: dict[str, Any], named: Named = lambda path: path
) -> list[Violation]:
    """The violations of `schema` (draft-07) in `data`, each once: all, or more than most."""
    found: dict[tuple[str, Pointer], Violation] = {}
    for error in GoLikeValidator(schema).iter_errors(data):
        for violation in _of_error(error, schema, named):
            if isinstance(violation.value, str) and TEMPLATE.search(violation.value):
                violation = replace(violation, fix=TEMPLATE_FIX)
            found.setdefault((violation.code, violation.path), violation)
        if len(found) > MOST_FINDINGS:
            break
    told = list(found.values())
    stands_for = {part for one in told for part in _proposed(one)}
    return [one for one in told if not (one.code == MISSING_KEY and _wanted(one) & stands_for)]


def _wanted(missing: Violation) -> set[Pointer]:
    """The paths of which one is missing."""
    return {(*missing.path[:-1], key) for key in missing.one_of or missing.path[-1:]}


def _proposed(violation: Violation) -> Iterator[Pointer]:
    """The keys that an unknown one is proposed to stand for, with the mappings around them."""
    if violation.code != UNKNOWN_KEY or not violation.fix.startswith(_MEANT):
        return
    for name in re.split(", | or ", violation.fix.removeprefix(_MEANT).rstrip("?")):
        path: Pointer = tuple(name.split("."))
        yield from (path[:end] for end in range(1, len(path) + 1))


def _of_error(error: ValidationError, schema: dict[str, Any], named: Named) -> Iterator[Violation]:
    path: Pointer = tuple(part for part in error.absolute_path)
    keyword: Any = error.validator
    wanted: Any = error.validator_value
    value: Any = error.instance
    rules = error.schema if isinstance(error.schema, dict) else {}
    name = dotted(named(path)) or "the file"
    if "propertyNames" in error.absolute_schema_path:
        form = rules.get("x-form", ANY_FORM)
        yield Violation(
            WRONG_FORM, (*path, value), f"the key '{cut(value)}' is not {form}", at_key=True
        )
    elif keyword == "additionalProperties":
        unknown = [key for key in value if key not in rules.get("properties", {})]
        for key in unknown[:_MOST_SUGGESTIONS]:
            suggestion = _suggestion(key, value[key], rules, schema, path)
            yield unknown_key((*path, key), key, dotted(named(path)), suggestion)
        for key in unknown[_MOST_SUGGESTIONS:]:
            yield unknown_key((*path, key), key, dotted(named(path)))
    elif keyword == "required":
        for key in wanted:
            if key not in value:
                message = f"'{key}' is missing" + (f" in {name}" if named(path) else "")
                message += _why(rules)
                yield Violation(MISSING_KEY, (*path, key), message, _example(rules, key))
    elif keyword == "type":
        is_what = "empty" if value is None else f"{excerpt(value)}, {kind_of(value)}"
        fix = _of_value(path, value) or NAMES.get(path, "") or type_fix(value, wanted)
        if not fix and wanted == "object" and "required" in rules and value is not None:
            fix = f"write it as a mapping with {' and '.join(rules['required'])}"
        if wanted == "array" and isinstance(value, dict) and value:
            is_what = kind_of(value)
            parts = resolved(rules.get("items", {}), schema).get("properties", {})
            if parts.keys() & value.keys():
                fix = "make it a list of one: '- ' before its first key, or [ ] around it"
            elif {"name", "value"} <= parts.keys():
                first = cut(str(next(iter(value))))
                fix = f"make it a list: [{{name: {first}, value: …}}, …]"
        message = f"{name} is {is_what}; {needed(wanted)} is needed"
        yield Violation(WRONG_TYPE, path, message, fix, value)
    elif keyword == "enum":
        message = f"{name} is {excerpt(value)}, not {choices(wanted)}{_why(rules)}"
        yield Violation(NOT_A_CHOICE, path, message, _of_value(path, value), value)
    elif keyword == "pattern":
        form = rules.get("x-form", ANY_FORM)
        message = f"{name} is {excerpt(value)}, not {form}"
        fix = module_fix(value) if path[-1:] == ("module",) else ""
        if path[-1:] == ("script",) and ".py " in value:
            fix = SCRIPT_ALONE
        yield Violation(WRONG_FORM, path, message, fix, value)
    elif keyword == "oneOf":
        yield from _forms(wanted, path, value, rules, named)
    elif keyword == "not" and "dependencies" in error.absolute_schema_path:
        for key in (form["required"][0] for form in wanted["anyOf"]):
            if key in value:
                message = (
                    f"{name}.{key} is for a claim that the chart makes, "
                    f"{name}.claim names one that exists"
                )
                fix = "keep one of them"
                yield Violation(TWO_FORMS, (*path, key), message, fix, value[key], at_key=True)
    else:
        yield _out_of_range(path, name, error, rules)


def _of_value(path: Pointer, value: Any) -> str:
    """What to do about a word that people use for something else of ours; empty for others."""
    return OF_VALUES.get((dotted(path), folded(value)), "") if isinstance(value, str) else ""


def _why(rules: Mapping[str, Any]) -> str:
    """Why the schema asks for this; empty where that is plain."""
    return f": {rules['x-why']}" if "x-why" in rules else ""


def _forms(
    forms: list[dict[str, Any]],
    path: Pointer,
    value: Any,
    rules: dict[str, Any],
    named: Named,
) -> Iterator[Violation]:
    """A mapping that has none of its possible forms, or several; a form's first key names it."""
    if not isinstance(value, dict):  # told by its type
        return
    names = [form["required"][0] for form in forms]
    chosen = [form for form in forms if form["required"][0] in value]
    if not chosen:
        missing = " or ".join(f"'{name}'" for name in names)
        where = f" in {dotted(named(path))}" if path else ""
        message = f"{missing} is missing{where}"
        fix = _example(rules, names[0])
        yield Violation(MISSING_KEY, (*path, names[0]), message, fix, one_of=tuple(names))
        return
    name = chosen[0]["required"][0]
    for key in value:
        alien = key not in chosen[0]["propertyNames"]["enum"]
        if alien and any(key in form["propertyNames"]["enum"] for form in forms):
            here = dotted(named(path))
            message = f"{here}.{key} does not go with {here}.{name}"
            fix = "keep one of them"
            yield Violation(TWO_FORMS, (*path, key), message, fix, value[key], at_key=True)
    for key in chosen[0]["required"]:
        if key not in value:
            message = f"'{key}' is missing in {dotted(named(path))}"
            yield Violation(MISSING_KEY, (*path, key), message, _example(rules, key))


_BOUNDS = {
    "minimum": "at least {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
}
_LENGTHS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
}


def _out_of_range(
    path: Pointer, name: str, error: ValidationError, rules: Mapping[str, Any]
) -> Violation:
    keyword = str(error.validator)
    wanted: Any = error.validator_value
    value: Any = error.instance
    fix = ""
    if _why(rules):
        message = f"{name} is {excerpt(value)}{_why(rules)}"
    elif keyword == "maximum":
        message, fix = (
            f"{name} is {excerpt(value)}; the most is {wanted}",
            f"write {wanted} or less",
        )
    elif path == ("ps",) and value == 0:
        message = "ps is 0; at least 1 is needed"
        fix = "leave ps out; a training without them is strategy: all-reduce"
    elif keyword in _BOUNDS:
        message = f"{name} is {excerpt(value)}; {_BOUNDS[keyword].format(wanted)} is needed"
    elif keyword in _LENGTHS:
        bound = _LENGTHS[keyword].format(wanted)
        if path == ("name",) and keyword == "maxLength":
            return _name_too_long(value, wanted)
        if wanted == 1:
            message = f"{name} is empty"
        else:
            message = f"{name} is {excerpt(value)}, {len(value)} long; {bound} are accepted"
    elif keyword == "uniqueItems":
        message = f"{name} names a thing twice: {excerpt(value)}"
    else:
        message, fix = _other(name, error, rules)
    return Violation(OUT_OF_RANGE, path, message, fix, value)


def _other(name: str, error: ValidationError, rules: Mapping[str, Any]) -> tuple[str, str]:
    """What is wrong by any other rule, and the fix."""
    wanted: Any = error.validator_value
    value: Any = error.instance
    needed_keys = wanted.get("required", []) if error.validator == "not" else []
    if needed_keys or error.validator == "maxProperties":
        keys = needed_keys or [*map(cut, value)]
        if len(keys) == 1:
            return f"{name} has {keys[0]}, which may not stand there", f"leave {keys[0]} out"
        return f"{name} has {cut(' and '.join(keys))}, which do not go together", "keep one of them"
    if "x-form" in rules:
        return f"{name} is {excerpt(value)}, not {rules['x-form']}", ""
    return f"{name} is {excerpt(value)}, which the schema does not take", ""


def _name_too_long(name: str, limit: int) -> Violation:
    longest = longest_derived_name(name)
    message = (
        f"name is {len(name)} characters long, at most {limit} leave room for the names made from "
        f"it: {longest} would have {len(longest)} of at most {DNS_LABEL_LIMIT}"
    )
    return Violation(NAME_TOO_LONG, ("name",), message, f"shorten it to {limit}", name)


def unknown_key(path: Pointer, key: str, where: str, fix: str = "") -> Violation:
    """An undeclared key in the mapping that the message calls `where`."""
    message = f"unknown key '{cut(key)}'" + (f" in {where}" if where else "")
    return Violation(UNKNOWN_KEY, path, message, fix, at_key=True)


def did_you_mean(word: str) -> str:
    """A suggestion of one word; empty for none."""
    return f"{_MEANT}'{word}'?" if word else ""


def _suggestion(
    key: str, value: Any, rules: dict[str, Any], schema: dict[str, Any], path: Pointer
) -> str:
    """A suggestion for an unknown key that was not read as another one; empty if there is none."""
    if value is None and key.isdecimal():  # {steps: 1,000}, {learningRate: 1,5}
        before = "without one" if len(key) == 3 else "with a point"
        return f"a comma ends a value: write the number before it {before}"
    name, colon, rest = key.partition(":")
    if colon and (name in rules.get("properties", {}) or folded(name) in ELSEWHERE):
        return f"write a blank after the colon: {cut(f'{name}: {rest}')}"
    if schema is params_schema():
        if folded(key) == "enabled" and "boolean" in types_of(rules):
            return "write true or false in place of the mapping"
        if folded(key) in SENTENCES:
            return SENTENCES[folded(key)]
        if folded(key) in ELSEWHERE:
            return f"did you mean {dotted(ELSEWHERE[folded(key)])}?"
    if ours := other_charts.suggestion(key, path, in_params=schema is params_schema()):
        return ours
    known = list(rules.get("properties", {}))
    places = _places(schema is params_schema()).get(key, ())
    # What another section has is no help.
    elsewhere = [p for p in places if p != (*path, key) and p[: len(path[:1])] == path[:1]]
    if elsewhere:
        common = [_in_common(one, path) for one in elsewhere]
        near = [one for one, length in zip(elsewhere, common, strict=True) if length == max(common)]
        if schema is params_schema() and len(near) > 3:  # of each role
            near = [one for one in near if _ROLE in one] or near
        return f"did you mean {either(dotted(one) for one in near[:3])}?"
    right = likely(key, known)
    if right:
        node = resolved(rules["properties"][right.word], schema)
        if may_be(value, node, schema, (*path, right.word), sure=right.sure):
            return did_you_mean(right.word)
    if not path and schema is params_schema() and key in values_schema()["properties"]:
        return f"the chart's value of that name is extraValues.{key}"
    return f"known here: {', '.join(known)}" if len(known) <= 8 else ""


def _in_common(one: Pointer, other: Pointer) -> int:
    """How many parts two paths begin with in common."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


@cache
def _places(of_params: bool) -> dict[str, list[Pointer]]:
    """Every key of the params schema, or of the chart's, with its paths there."""
    places: dict[str, list[Pointer]] = {}
    for path in key_paths(params_schema() if of_params else values_schema()):
        places.setdefault(str(path[-1]), []).append(path)
    return places


def key_paths(
    schema: Mapping[str, Any], rules: Mapping[str, Any] | None = None, path: Pointer = ()
) -> Iterator[Pointer]:
    """Every key that the schema declares, as a path."""
    rules = resolved(schema if rules is None else rules, schema)
    for key, inner in rules.get("properties", {}).items():
        yield (*path, key)
        yield from key_paths(schema, inner, (*path, key))


def _example(rules: dict[str, Any], key: str) -> str:
    form = rules.get("properties", {}).get(key, {}).get("x-form", "")
    if " as in " in form:
        return f"add {key}: {form.rpartition(' as in ')[2]}"
    if words := rules.get("properties", {}).get(key, {}).get("enum"):
        return f"add {key}: {choices(words)}"
    inner = rules.get("properties", {}).get(key, {}).get("required")
    return f"add {key}: with {', '.join(inner)}" if inner else f"add {key}: …"
