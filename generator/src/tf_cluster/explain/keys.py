"""Finds a key of a params file in the schemas, with what they say of it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster.exits import RefusedError
from tf_cluster.params.schema_files import params_schema, referred, values_schema
from tf_cluster.params.spelling import folded, likely, most_alike
from tf_cluster.params.synonyms import ELSEWHERE, SENTENCES
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut, printable

_EXTRA = "extraValues"


@dataclass(frozen=True)
class Key:
    """A key by its path. `rules` are what its schema says, with a reference followed.

    `alike` is equal for keys of one definition: the requests of a worker and of a ps.
    """

    path: Pointer
    rules: Mapping[str, Any]
    alike: Pointer = ()
    required: bool = False

    @property
    def description(self) -> str:
        """What it is, in sentences."""
        return str(self.rules.get("description", ""))

    @property
    def name(self) -> str:
        """Its dotted name."""
        return dotted(self.path)

    def inner(self) -> Iterator["Key"]:
        """The keys below it."""
        for name in self.rules.get("properties", {}):
            yield self._below(name)

    def below(self, name: str) -> "Key | None":
        """The key of that name below it, which may be one that the user chooses."""
        others = self.rules.get("additionalProperties")
        if name in self.rules.get("properties", {}) or isinstance(others, Mapping):
            return self._below(name)
        return None

    def _below(self, name: str) -> "Key":
        said = self.rules.get("properties", {}).get(name) or self.rules["additionalProperties"]
        path = (*self.path, name)
        schema = values_schema() if self.path[:1] == (_EXTRA,) else params_schema()
        rules = _whole(said, schema)
        alike = (*self.alike, name) if self.alike else ()
        if not alike and "$ref" in said and rules.get("type") == "object":
            alike = (said["$ref"],)
        if path == (_EXTRA,):
            rules = {**values_schema(), **rules}
        return Key(path, rules, alike, required=name in self.rules.get("required", ()))


def _whole(rules: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Rules with what they refer to; what is said here wins."""
    if "$ref" not in rules:
        return rules
    here = {word: rule for word, rule in rules.items() if word != "$ref"}
    return {**_whole(referred(rules["$ref"], schema), schema), **here}


def root() -> Key:
    """The whole file."""
    return Key((), params_schema())


def key_at(path: Pointer) -> Key | None:
    """The key at a path; None if there is none. Items of a list are the list's."""
    key: Key | None = root()
    for part in path:
        if isinstance(part, str) and key is not None:
            key = key.below(part)
    return key


def find_key(text: str) -> Key:
    """The key that a text names, dotted or as a JSON pointer. Raises RefusedError for none."""
    path = _parts(text)
    key = root()
    for part in path:
        inner = key.below(part)
        if inner is None:
            raise RefusedError(_no_key(key, part, path))
        key = inner
    return key


def _parts(text: str) -> list[str]:
    if text.startswith("/"):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in text[1:].split("/")]
        return [part for part in parts if not part.isdigit()]
    return re.sub(r"\[\d*\]", "", text).split(".")


def _no_key(around: Key, part: str, path: list[str]) -> str:
    where = f" in {around.name}" if around.path else ""
    message = f"there is no key '{printable(cut(part))}'{where}"
    advice = _advice(around, part, path)
    return f"{message} ({advice})" if advice else f"{message} (`tf-cluster explain` lists the keys)"


def _advice(around: Key, part: str, path: list[str]) -> str:
    known = [key.path[-1] for key in around.inner()]
    names = [name for name in known if isinstance(name, str)]
    if not around.path:
        if folded(part) in SENTENCES:
            return SENTENCES[folded(part)]
        if folded(part) in ELSEWHERE:
            return f"did you mean {dotted(ELSEWHERE[folded(part)])}?"
        if part in values_schema()["properties"] and part not in names:
            value = ".".join((_EXTRA, *path))
            return f"it is a value of the chart: tf-cluster explain {printable(cut(value))}"
    right = likely(part, names)
    near = right.word if right else most_alike(part, names)
    if near:
        return f"did you mean {dotted((*around.path, near))}?"
    elsewhere = [key.name for key in keys_of_params(root()) if key.path[-1] == part]
    return f"did you mean {elsewhere[0]}?" if elsewhere else ""


def keys_of_params(key: Key) -> Iterator[Key]:
    """All keys below one but the chart's values."""
    for inner in key.inner():
        yield inner
        if inner.path != (_EXTRA,):
            yield from keys_of_params(inner)
