"""A draft-07 validator that agrees with Helm's Go validator.

What the chart itself says is judged once: a file's values are mostly the chart's own.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, ClassVar

from jsonschema.exceptions import ValidationError
from jsonschema.validators import Draft7Validator

from tf_cluster.params.schema_files import chart_values, referred

# A dollar sign, and before it what may hold one that is itself: an escape, a class of characters.
_DOLLAR = re.compile(r"(\\.|\[(?:\\.|[^\\\]])*\])|\$")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Go: `$` is the end of the text (Python: also before a last newline), \w and \d are ASCII.
    return re.compile(_DOLLAR.sub(lambda found: found[1] or r"\Z", pattern), re.ASCII)


def matches(pattern: str, text: str) -> bool:
    """Whether a schema's pattern is in a text, as Go sees it."""
    return bool(_compiled(pattern).search(text))


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


def _unique_items(
    validator: Any, wanted: bool, instance: Any, schema: Any
) -> Iterator[ValidationError]:
    """As jsonschema's own, which compares each with each where some can't be sorted."""
    if wanted and isinstance(instance, list) and len({*map(_key, instance)}) < len(instance):
        yield ValidationError(f"{instance!r} has non-unique elements")


def _key(value: Any) -> Any:
    """Equal for values that JSON schema calls equal: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, dict):
        return frozenset((name, _key(inner)) for name, inner in value.items())
    if isinstance(value, list):
        return tuple(map(_key, value))
    return (bool, value) if isinstance(value, bool) else value


def _properties(
    validator: Any, properties: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[ValidationError]:
    """As jsonschema's own, but a value of the chart that was good before is not judged again.

    Rules and a value that are the same objects as before give the same errors.
    """
    if not isinstance(instance, dict):
        return
    for key, rules in properties.items():
        if key not in instance:
            continue
        value = instance[key]
        pair = (id(rules), id(value))
        if pair in _GOOD:
            continue
        errors = validator.descend(value, rules, path=key, schema_path=key)
        if id(value) in _of_the_chart():
            errors = list(errors)
            if not errors:
                _GOOD[pair] = (rules, value)
        yield from errors


_GOOD: dict[tuple[int, int], tuple[Any, Any]] = {}
"""Rules and values of the chart that fit, by their ids. They are kept, so no id is used again."""


@cache
def _of_the_chart() -> Mapping[int, Any]:
    """Every value in the chart's values.yaml, by its id."""
    found: dict[int, Any] = {}

    def note(value: Any) -> None:
        found[id(value)] = value
        for inner in value.values() if isinstance(value, dict) else ():
            note(inner)

    note(chart_values())
    return found


_Keywords = tuple[tuple[Callable[..., Any], str, Any], ...]


class GoLikeValidator:
    """A schema of draft-07 as jsonschema's keywords judge by it, in an own walk.

    jsonschema's own walk makes an object with a resolver for each value and rule. It would take
    seconds for a file of 50,000 values. `root` is the schema that a `$ref` leads into.
    """

    VALIDATORS: ClassVar[Mapping[str, Callable[..., Any]]] = {
        **Draft7Validator.VALIDATORS,
        "pattern": _pattern,
        "properties": _properties,
        "uniqueItems": _unique_items,
    }
    TYPE_CHECKER: ClassVar[Any] = Draft7Validator.TYPE_CHECKER
    format_checker = None

    def __init__(self, schema: Any, root: "GoLikeValidator | None" = None) -> None:
        self.schema = schema
        self._root = root or self
        if root is None:
            # By the ids of rules, which `schema` keeps.
            self._keywords: dict[int, _Keywords] = {}
            self._good: dict[tuple[int, int], Any] = {}

    def evolve(self, *, schema: Any) -> "GoLikeValidator":
        """The same for a part of the schema."""
        return GoLikeValidator(schema, self._root)

    def is_type(self, instance: Any, kind: str) -> bool:
        """Whether a value has a type of JSON schema."""
        return is_of_type(instance, kind)

    def is_valid(self, instance: Any) -> bool:
        """Whether the schema takes a value."""
        return next(self.iter_errors(instance), None) is None

    def iter_errors(self, instance: Any) -> Iterator[ValidationError]:
        """What the schema refuses in a value, in the order of jsonschema."""
        return self._root.descend(instance, self.schema)

    def descend(
        self, instance: Any, schema: Any, path: Any = None, schema_path: Any = None
    ) -> Iterator[ValidationError]:
        """The errors of a value by a part of the schema; the paths lead to it from what is around.

        A part is a mapping: neither of our schemas has `true` or `false` in the place of one.
        """
        for judge, keyword, wanted in self._of(schema):
            for error in judge(self, wanted, instance, schema) or ():
                if not error.schema_path:  # it comes from this keyword, and from none below
                    error.validator, error.validator_value = keyword, wanted
                    error.instance, error.schema = instance, schema
                if keyword not in ("if", "$ref"):
                    error.schema_path.appendleft(keyword)
                if path is not None:
                    error.path.appendleft(path)
                if schema_path is not None:
                    error.schema_path.appendleft(schema_path)
                yield error

    def _of(self, rules: Mapping[str, Any]) -> _Keywords:
        """The keywords of rules, and what judges by each."""
        known = self._root._keywords.get(id(rules))
        if known is None:
            # Beside a `$ref` nothing counts in draft-07.
            parts = {"$ref": rules["$ref"]} if "$ref" in rules else rules
            known = tuple(
                (self.VALIDATORS[keyword], keyword, wanted)
                for keyword, wanted in parts.items()
                if keyword in self.VALIDATORS
            )
            self._root._keywords[id(rules)] = known
        return known

    def _validate_reference(self, ref: str, instance: Any) -> Iterator[ValidationError]:
        return self.descend(instance, referred(ref, self._root.schema))


def is_of_type(value: Any, kind: str) -> bool:
    """Whether a value has a type of JSON schema; a whole float is an integer, too."""
    return bool(Draft7Validator.TYPE_CHECKER.is_type(value, kind))
