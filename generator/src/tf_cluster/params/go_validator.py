"""A draft-07 validator that agrees with Helm's Go validator.

What the chart itself says is judged once: a file's values are mostly the chart's own.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.validators import Draft7Validator, extend

from tf_cluster.params.schema_files import chart_values

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


GoLikeValidator = extend(  # type: ignore[no-untyped-call]
    Draft7Validator, {"pattern": _pattern, "properties": _properties}
)


def is_of_type(value: Any, kind: str) -> bool:
    """Whether a value has a type of JSON schema; a whole float is an integer, too."""
    return bool(GoLikeValidator.TYPE_CHECKER.is_type(value, kind))
