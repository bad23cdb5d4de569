"""Values that a JSON schema takes, drawn by hypothesis: of the part of draft-07 that ours uses.

Where a schema says how keys go together (`if`, `allOf`, `not`) a way to choose is drawn first, its
words are laid over the rest, and what is drawn is held to the schema itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jsonschema
from hypothesis import reject
from hypothesis import strategies as st

Schema = Mapping[str, Any]
Draw = st.DrawFn

CHOOSING = {"allOf", "anyOf", "oneOf", "if", "then", "else"}
# What says something about a value; the rest of a schema is for people.
KNOWN = CHOOSING | {
    *("$ref", "not", "enum", "type", "patterns", "pattern", "minLength", "maxLength"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    *("items", "minItems", "maxItems", "uniqueItems"),
    *("properties", "required", "additionalProperties", "propertyNames"),
    *("minProperties", "maxProperties", "dependencies"),
}
FOR_PEOPLE = {"description", "x-form", "x-why", "title", "$schema", "definitions"}
MOST = 3  # entries of a list or a mapping
TRIES = 8  # for what has to go together

# Words that some reader of YAML takes for something else, or that need care in a text.
TELLING = [
    *("on", "no", "1e3", "0777", "0x1f", "123", "null", "~", "", " ", "2026-01-01", "1_000", "y"),
    *("a: b", "# a", "{{ a }}", "- a", "'", '"', "%", "*a", "&a", "!a", "|", ".inf", "12:30"),
    *("a" * size for size in (40, 63, 64, 253)),
]

JSON: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**53) + 1, 2**53 - 1),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(max_size=20),
        st.sampled_from(TELLING),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=MOST),
        st.dictionaries(st.text(max_size=10), inner, max_size=MOST),
    ),
    max_leaves=8,
)


@dataclass(frozen=True)
class Draws:
    """Draws values for the parts of one schema.

    `own` are functions that draw for a definition in its place, by its name.
    """

    root: Schema
    own: Mapping[str, Callable[[Draw], Any]] = field(default_factory=dict)

    def value(self, draw: Draw, schema: Schema) -> Any:
        """A value that the schema takes."""
        name = str(schema.get("$ref", "")).removeprefix("#/definitions/")
        if name in self.own:
            return self.own[name](draw)
        schema = self._resolved(schema)
        unknown = schema.keys() - KNOWN - FOR_PEOPLE
        assert not unknown, f"the fuzzer does not know {sorted(unknown)}"
        if not schema.keys() & (CHOOSING | {"not", "dependencies"}):
            return self._simple(draw, schema)
        whole = {**schema, "definitions": self.root.get("definitions", {})}
        validator = jsonschema.Draft7Validator(whole)
        ways = [way for way in self._ways(schema) if _possible(way)]
        for _ in range(TRIES):
            value = self._simple(draw, draw(st.sampled_from(ways)))
            if validator.is_valid(value):
                return value
        return reject()

    def _resolved(self, schema: Schema) -> Schema:
        while "$ref" in schema:
            found: Any = self.root
            for key in schema["$ref"].removeprefix("#/").split("/"):
                found = found[key]
            schema = found
        return schema

    def _ways(self, schema: Schema) -> list[Schema]:
        """The schema without words that choose, once for each way to choose."""
        schema = self._resolved(schema)
        ways: list[Schema] = [{key: word for key, word in schema.items() if key not in CHOOSING}]
        choices = [self._ways(part) for part in schema.get("allOf", [])]
        for word in ("anyOf", "oneOf"):
            if word in schema:
                choices.append([way for part in schema[word] for way in self._ways(part)])
        if "if" in schema:
            met = self._both(schema["if"], schema.get("then", {}))
            choices.append([*self._ways(met), *self._ways(schema.get("else", {}))])
        for choice in choices:
            ways = [self._both(way, other) for way in ways for other in choice]
        return ways

    def _both(self, one: Schema, other: Schema) -> Schema:
        """What both say; a later pattern is taken for the narrower one."""
        one, other = self._resolved(one), self._resolved(other)
        both: dict[str, Any] = {**one, **other}
        both.pop("pattern", None)
        both["patterns"] = [*_patterns(one), *_patterns(other)]
        both["required"] = sorted({*one.get("required", []), *other.get("required", [])})
        mine, theirs = one.get("properties", {}), other.get("properties", {})
        both["properties"] = {
            key: self._both(mine.get(key, {}), theirs.get(key, {})) for key in {**mine, **theirs}
        }
        if "items" in one and "items" in other:
            both["items"] = self._both(one["items"], other["items"])
        for words, choose in (
            (("minimum", "minItems", "minLength", "minProperties"), max),
            (("maximum", "maxItems", "maxLength", "maxProperties"), min),
        ):
            for word in words:
                if word in one and word in other:
                    both[word] = choose(one[word], other[word])
        if "enum" in one and "enum" in other:
            both["enum"] = [word for word in one["enum"] if word in other["enum"]]
        return {key: word for key, word in both.items() if word not in ([], {}) or key == "enum"}

    def _simple(self, draw: Draw, schema: Schema) -> Any:
        """Of a schema without words that choose at its top."""
        if "enum" in schema:
            return draw(st.sampled_from(list(schema["enum"])))
        kinds = schema.get("type") or _implied(schema)
        kind = kinds if isinstance(kinds, str) else draw(st.sampled_from(kinds))
        if kind == "object":
            return self._object(draw, schema)
        if kind == "array":
            return self._array(draw, schema)
        strategy: Callable[[Schema], st.SearchStrategy[Any]] = _SCALARS[kind]
        return draw(strategy(schema))

    def _array(self, draw: Draw, schema: Schema) -> list[Any]:
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", MOST), max(MOST, least))
        items = schema.get("items", {"type": "string"})
        found = [self.value(draw, items) for _ in range(draw(st.integers(least, most)))]
        if schema.get("uniqueItems"):
            found = list({repr(item): item for item in found}.values())
        return found if len(found) >= least else reject()

    def _object(self, draw: Draw, schema: Schema) -> dict[str, Any]:
        properties, required = schema.get("properties", {}), schema.get("required", [])
        others = schema.get("additionalProperties", True)
        if others is not False and not properties:
            names = {"type": "string", **schema.get("propertyNames", {})}
            most = min(MOST, schema.get("maxProperties", MOST))
            count = draw(st.integers(schema.get("minProperties", 0), most))
            return {
                self.value(draw, names): draw(JSON) if others is True else self.value(draw, others)
                for _ in range(count)
            }
        optional = sorted(properties.keys() - set(required))
        least = max(schema.get("minProperties", 0) - len(required), 0)
        most = max(schema.get("maxProperties", MOST + len(required)) - len(required), 0)
        chosen = draw(
            st.lists(
                st.sampled_from(optional),
                min_size=least,
                max_size=min(most, len(optional)),
                unique=True,
            )
            if optional
            else st.just([])
        )
        return {key: self.value(draw, properties[key]) for key in (*required, *chosen)}


def _integers(schema: Schema) -> st.SearchStrategy[Any]:
    least = int(schema.get("minimum", schema.get("exclusiveMinimum", -(2**53))))
    least += "exclusiveMinimum" in schema
    most = int(schema.get("maximum", 2**53))
    return st.one_of(
        st.integers(least, min(least + 20, most)),
        st.sampled_from((least, most)),
        st.integers(least, most),
    )


def _numbers(schema: Schema) -> st.SearchStrategy[Any]:
    floats = st.floats(
        min_value=schema.get("minimum", schema.get("exclusiveMinimum")),
        max_value=schema.get("maximum"),
        exclude_min="exclusiveMinimum" in schema,
        allow_nan=False,
        allow_infinity=False,
    )
    return st.one_of(floats, _integers(schema))


def _strings(schema: Schema) -> st.SearchStrategy[str]:
    *wider, narrow = _patterns(schema) or [""]
    least, most = schema.get("minLength", 0), schema.get("maxLength", 10**6)

    def fits(text: str) -> bool:
        return least <= len(text) <= most and all(_matches(pattern, text) for pattern in wider)

    telling = [text for text in TELLING if fits(text) and _matches(narrow, text)]
    drawn = _matching(narrow) if narrow else st.text(min_size=least, max_size=min(most, 40))
    return st.one_of(drawn.filter(fits), *([st.sampled_from(telling)] if telling else []))


_SCALARS: Mapping[str, Callable[[Schema], st.SearchStrategy[Any]]] = {
    "null": lambda _: st.none(),
    "boolean": lambda _: st.booleans(),
    "integer": _integers,
    "number": _numbers,
    "string": _strings,
}


@functools.cache
def _matching(pattern: str) -> st.SearchStrategy[str]:
    # In Python alone `$` also matches before a last newline.
    return st.from_regex(re.sub(r"(?<!\\)\$(?=\)*(?:\||$))", r"\\Z", pattern))


def _matches(pattern: str, text: str) -> bool:
    return re.search(pattern, text) is not None and not text.endswith("\n")


def _patterns(schema: Schema) -> list[str]:
    return [*schema.get("patterns", []), *([schema["pattern"]] if "pattern" in schema else [])]


def _possible(way: Schema) -> bool:
    """Whether any value can be what two parts of a schema say together."""
    if way.get("enum", [None]) == []:
        return False
    for low, high in (("minItems", "maxItems"), ("minLength", "maxLength"), ("minimum", "maximum")):
        if low in way and high in way and way[low] > way[high]:
            return False
    properties = way.get("properties", {})
    return all(_possible(properties.get(name, {})) for name in way.get("required", []))


def _implied(schema: Schema) -> list[str]:
    """The type of a schema that says none: what its words are about."""
    if schema.keys() & {"properties", "additionalProperties", "propertyNames"}:
        return ["object"]
    return ["array"] if "items" in schema else ["string"]
