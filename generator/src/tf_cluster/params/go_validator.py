"""A draft-07 validator that agrees with Helm's Go validator."""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema.exceptions import ValidationError
from jsonschema.validators import Draft7Validator, extend


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Go: `$` is the end of the text (Python: also before a last newline), \w and \d are ASCII.
    return re.compile(re.sub(r"(?<!\\)\$", r"\\Z", pattern), re.ASCII)


def matches(pattern: str, text: str) -> bool:
    """Whether a schema's pattern is in a text, as Go sees it."""
    return bool(_compiled(pattern).search(text))


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not matches(pattern, instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


GoLikeValidator = extend(Draft7Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def is_of_type(value: Any, kind: str) -> bool:
    """Whether a value has a type of JSON schema; a whole float is an integer, too."""
    return bool(GoLikeValidator.TYPE_CHECKER.is_type(value, kind))
