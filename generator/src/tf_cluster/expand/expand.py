"""From params to values: the one place that says which key becomes which value."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tf_cluster.expand.image import DEFAULT_TAG
from tf_cluster.expand.intents import INTENTS, intents
from tf_cluster.expand.merge import merged
from tf_cluster.expand.preset import DEFAULT_PRESET, PRESETS
from tf_cluster.expand.roles import TASKS, absent_roles, only_choice
from tf_cluster.params.schema_files import chart_values
from tf_cluster.params.values import PRESET, Flag, Values
from tf_cluster.pointer import Pointer, value_at

FLAGS: Mapping[Flag, Pointer] = {
    Flag("--workers"): ("worker", "replicas"),
    Flag("--ps"): ("ps", "replicas"),
    Flag("--steps"): ("train", "steps"),
    Flag("--id"): ("run", "id"),
}
"""The values that flags of `tf-cluster run` set, whatever the file says."""
NO_FLAGS: Mapping[Flag, Any] = {}

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
    (("tensorboard", "logdir"), ("tensorboard", "logdir")),
    (("notebook", "secretName"), ("notebook", "token", "existingSecret")),
    (("imagePullSecrets",), ("image", "pullSecrets")),
    (("priority",), ("pod", "priorityClassName")),
    (("scheduling",), ("scheduling",)),
    *(
        (("nodes", *role, key), (*(role or ("pod",)), value))
        for role in ((), *((role,) for role in TASKS))
        for key, value in (("selector", "nodeSelector"), ("tolerations", "tolerations"))
    ),
    (("workers",), ("worker", "replicas")),
    (("ps",), ("ps", "replicas")),
    *((("resources", role), (role, "resources")) for role in TASKS),
    (("data", "enabled"), ("storage", "data", "enabled")),
    *(
        ((volume, key), ("storage", volume, value))
        for volume in ("data", "log")
        for key, value in (
            ("claim", "existingClaim"),
            ("size", "size"),
            ("class", "storageClassName"),
            ("volume", "volumeName"),
            ("subPath", "subPath"),
            ("accessModes", "accessModes"),
        )
    ),
)


def expand(params: Mapping[str, Any], flags: Mapping[Flag, Any] = NO_FLAGS) -> Values:
    """Make values of params. The preset fills in keys that are missing or were refused.

    `flags` are values for `FLAGS`; they take precedence over everything in the file.
    """
    preset = PRESETS[preset_name(params)]
    data: dict[str, Any] = {}
    origins: dict[Pointer, Pointer] = {}
    for path, value in leaves(preset):
        _put(data, path, value)
        origins[path] = PRESET
    for source, target in _RENAMED:
        decided = value_at(params, source)
        # A role's selector that is empty stands in the place of that of all.
        empty = decided is not None and target[-1] == "nodeSelector"
        for path, value in leaves({} if decided is None else decided, empty=empty):
            _put(data, target + path, _for_kubernetes(target, value))
            origins[target + path] = source + path
    for target, value, source in intents(params):
        _put(data, target, value)
        origins[target] = source
    _set_extra_values(params.get("extraValues", {}), data, origins)
    for flag, value in flags.items():
        _put(data, FLAGS[flag], value)
        origins[FLAGS[flag]] = (flag,)
    _complete_image(data, origins)
    _complete_method(data, origins)
    _leave_out_absent_roles(data, origins)
    data = in_chart_order(data, chart_values())
    return Values(data, origins, merged(chart_values(), data))


def value_paths(key: Pointer) -> list[Pointer]:
    """The values of the chart that a key of the params file becomes."""
    if key[:1] == ("extraValues",):
        return [key[1:]] if key[1:] else []
    if key in INTENTS:
        return list(INTENTS[key])
    return [
        (*target, *key[len(source) :])
        for source, target in _RENAMED
        if key[: len(source)] == source
    ]


def _set_extra_values(
    extra: Mapping[str, Any], data: dict[str, Any], origins: dict[Pointer, Pointer]
) -> None:
    """Lay extraValues over what the file's other keys set."""
    inside: dict[Pointer, list[Pointer]] = {}
    for known in origins:
        for end in range(len(known)):
            inside.setdefault(known[:end], []).append(known)
    for path, value in leaves(extra, empty=True):
        if not path or (value == {} and value_at(data, path) is not None):
            continue
        _put(data, path, value)
        for known in (*inside.get(path, ()), *(path[:end] for end in range(len(path)))):
            origins.pop(known, None)
        origins[path] = ("extraValues", *path)


def _complete_image(data: dict[str, Any], origins: dict[Pointer, Pointer]) -> None:
    """Set a tag where there is none: else a newer chart's appVersion would restart the training."""
    image = data.get("image")
    if not isinstance(image, dict) or not image.get("repository"):
        return
    if not image.get("tag") and not image.get("digest"):
        image["tag"] = DEFAULT_TAG
        origins.setdefault(("image", "tag"), PRESET)


def _complete_method(data: dict[str, Any], origins: dict[Pointer, Pointer]) -> None:
    """Set replication and update where the strategy leaves only one choice."""
    for key, only in only_choice(data.get("strategy")).items():
        if key not in data:
            data[key] = only
            origins[key,] = origins["strategy",]


def _leave_out_absent_roles(data: dict[str, Any], origins: dict[Pointer, Pointer]) -> None:
    """Drop what the preset sets for roles without tasks."""
    for role in absent_roles({**chart_values(), **data}):
        for path in [p for p, o in origins.items() if p[0] == role and o == PRESET]:
            del origins[path]
            _remove(data, path)


def _remove(data: dict[str, Any], path: Pointer) -> None:
    """Remove the value at `path`, and mappings that become empty."""
    key = str(path[0])
    if len(path) > 1:
        _remove(data[key], path[1:])
    if len(path) == 1 or not data[key]:
        del data[key]


def key_of(path: Pointer) -> Pointer:
    """The key of the params file that sets this value; empty where none does."""
    for source, target in _RENAMED:
        if path[: len(target)] == target:
            return source + path[len(target) :]
    return ()


def preset_name(params: Mapping[str, Any]) -> str:
    """The preset that a file names, or the default one."""
    return str(params.get("preset", DEFAULT_PRESET))


def leaves(data: Any, *, empty: bool = False) -> list[tuple[Pointer, Any]]:
    """Every value that is not a mapping, with its path; with `empty`, empty mappings too."""
    found: list[tuple[Pointer, Any]] = []
    _gather(data, (), found, empty=empty)
    return found


def _gather(data: Any, path: Pointer, found: list[tuple[Pointer, Any]], *, empty: bool) -> None:
    if isinstance(data, Mapping) and (data or not empty):
        for key, value in data.items():
            _gather(value, (*path, key), found, empty=empty)
    else:
        found.append((path, data))


def in_chart_order(data: Mapping[str, Any], model: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with its keys in the chart's order, other keys after them."""
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
    """Write quantities as text: a large number would reach Kubernetes as 4.294967296e+09."""
    if isinstance(value, (int, float)) and ("resources" in target or target[-1] == "size"):
        # every digit, and no exponent: the chart's sizes have none
        return format(Decimal(repr(value)), "f").removesuffix(".0")
    return value
