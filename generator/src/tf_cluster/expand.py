"""From params to values: the one place that says which key becomes which value."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

from tf_cluster.image import DEFAULT_TAG, parse_image
from tf_cluster.merge import merged
from tf_cluster.pointer import Pointer, value_at
from tf_cluster.preset import DEFAULT_PRESET, PRESETS
from tf_cluster.roles import absent_roles, only_choice
from tf_cluster.schema_files import chart_values

_ROLES = ("chief", "worker", "ps", "evaluator")
_HAS_EVALUATOR: Pointer = ("evaluator", "enabled")
_RENAMED: tuple[tuple[Pointer, Pointer], ...] = (
    (("name",), ("fullnameOverride",)),
    (("run",), ("run",)),
    (("program",), ("program",)),
    (("strategy",), ("strategy",)),
    (("replication",), ("replication",)),
    (("update",), ("update",)),
    (("train",), ("train",)),
    (("flags",), ("flags",)),
    (("evaluator", "exportBest"), ("evaluator", "exportBest")),
    (("workers",), ("worker", "replicas")),
    (("ps",), ("ps", "replicas")),
    *((("resources", role), (role, "resources")) for role in _ROLES),
    *(
        ((volume, key), ("storage", volume, value))
        for volume in ("data", "log")
        for key, value in (
            ("claim", "existingClaim"),
            ("size", "size"),
            ("class", "storageClassName"),
            ("volume", "volumeName"),
            ("accessModes", "accessModes"),
        )
    ),
)


@dataclass(frozen=True)
class Values:
    """Values for the chart: only what was decided, and which key of the params decided it.

    `origins` maps each value (a leaf, or a list) to its place in the params file; values that the
    preset decided map to `/preset`.
    """

    data: dict[str, Any]
    origins: dict[Pointer, Pointer]

    @property
    def effective(self) -> dict[str, Any]:
        """What the chart's templates see: these values over the chart's own."""
        return merged(chart_values(), self.data)

    def origin(self, path: Pointer) -> Pointer:
        """The params key that decided the value at `path`, or what is nearest around it."""
        for end in range(len(path), -1, -1):
            decided = self.origins.get(path[:end]) or self._inside.get(path[:end])
            if decided:
                return decided
        return ()

    def named(self, path: Pointer) -> Pointer:
        """The value at `path` as people find it: in the file's extraValues when it is set there."""
        origin = self.origin(path)
        return ("extraValues", *path) if origin[:1] == ("extraValues",) else path

    @cached_property
    def _inside(self) -> dict[Pointer, Pointer]:
        """For each mapping, the shortest place of those in the file that decided a part of it."""
        found: dict[Pointer, Pointer] = {}
        for path, origin in self.origins.items():
            if origin == ("preset",):
                continue
            for end in range(len(path)):
                if path[:end] not in found or len(origin) < len(found[path[:end]]):
                    found[path[:end]] = origin
        return found


def expand(params: Mapping[str, Any]) -> Values:
    """Make values of params. Keys that are missing or were found wrong are left to the preset."""
    preset = PRESETS[preset_name(params)]
    data: dict[str, Any] = {}
    origins: dict[Pointer, Pointer] = {}
    for path, value in leaves(preset):
        _put(data, path, value)
        origins[path] = ("preset",)
    for source, target in _RENAMED:
        decided = value_at(params, source)
        for path, value in leaves({} if decided is None else decided):
            _put(data, target + path, _for_kubernetes(target, value))
            origins[target + path] = source + path
    if "evaluator" in params:  # true, false, or what it shall do
        _put(data, _HAS_EVALUATOR, params["evaluator"] is not False)
        origins[_HAS_EVALUATOR] = ("evaluator",)
    if "image" in params:
        for key, text in parse_image(params["image"])._asdict().items():
            if text:
                _put(data, ("image", key), text)
                origins["image", key] = ("image",)
    inside: dict[Pointer, list[Pointer]] = {}
    for known in origins:
        for end in range(len(known)):
            inside.setdefault(known[:end], []).append(known)
    for path, value in leaves(params.get("extraValues", {}), empty=True):
        if not path or (value == {} and value_at(data, path) is not None):
            continue
        _put(data, path, value)
        for known in (*inside.get(path, ()), *(path[:end] for end in range(len(path)))):
            origins.pop(known, None)
        origins[path] = ("extraValues", *path)
    _complete_image(data, origins)
    _complete_method(data, origins)
    _leave_out_absent_roles(data, origins)
    return Values(in_chart_order(data, chart_values()), origins)


def _complete_image(data: dict[str, Any], origins: dict[Pointer, Pointer]) -> None:
    """Say which image: without a tag another chart's appVersion would restart the training."""
    image = data.get("image")
    if not isinstance(image, dict) or not image.get("repository"):
        return
    if not image.get("tag") and not image.get("digest"):
        image["tag"] = DEFAULT_TAG
        origins.setdefault(("image", "tag"), ("preset",))


def _complete_method(data: dict[str, Any], origins: dict[Pointer, Pointer]) -> None:
    """A strategy that leaves no choice says the rest of the method, where the file does not."""
    for key, only in only_choice(data.get("strategy")).items():
        if key not in data:
            data[key] = only
            origins[key,] = origins["strategy",]


def _leave_out_absent_roles(data: dict[str, Any], origins: dict[Pointer, Pointer]) -> None:
    """What the preset decided for a role without tasks is decided for nobody."""
    for role in absent_roles({**chart_values(), **data}):
        for path in [p for p, o in origins.items() if p[0] == role and o == ("preset",)]:
            del origins[path]
            _remove(data, path)


def _remove(data: dict[str, Any], path: Pointer) -> None:
    """Take out what stands at `path`, and mappings that are empty then."""
    key = str(path[0])
    if len(path) > 1:
        _remove(data[key], path[1:])
    if len(path) == 1 or not data[key]:
        del data[key]


def preset_name(params: Mapping[str, Any]) -> str:
    """The preset a file asks for; the default one where it asks for none."""
    return str(params.get("preset", DEFAULT_PRESET))


def leaves(data: Any, *, empty: bool = False) -> Iterator[tuple[Pointer, Any]]:
    """Every value that is not a mapping, with its path; `empty`: empty mappings, too."""
    if isinstance(data, Mapping) and (data or not empty):
        for key, value in data.items():
            for path, leaf in leaves(value, empty=empty):
                yield (key, *path), leaf
    else:
        yield (), data


def in_chart_order(data: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of `data` in the order in which the chart declares them, others after them."""
    keys = [key for key in model if key in data] + [key for key in data if key not in model]
    return {
        key: in_chart_order(data[key], model[key])
        if isinstance(data[key], Mapping) and isinstance(model.get(key), Mapping)
        else data[key]
        for key in keys
    }


def _put(data: dict[str, Any], path: Pointer, value: Any) -> None:
    for part in path[:-1]:
        inner = data.get(str(part))
        if not isinstance(inner, dict):
            inner = data[str(part)] = {}
        data = inner
    data[str(path[-1])] = value


def _for_kubernetes(target: Pointer, value: Any) -> Any:
    """Quantities travel as text: a large number would reach Kubernetes as 4.294967296e+09."""
    if isinstance(value, (int, float)) and ("resources" in target or target[-1] == "size"):
        # every digit, and no exponent: the chart's sizes have none
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return value
