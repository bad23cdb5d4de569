"""What a schema can't say: how keys of a params file have to go together."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from tf_cluster import codes
from tf_cluster.config_rules import character_rules, size_rules
from tf_cluster.expand import Values, expand, leaves
from tf_cluster.findings.finding import Finding
from tf_cluster.guards import guards, variables
from tf_cluster.phrases import excerpt
from tf_cluster.placing import finding_at, written
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.quantity import quantity
from tf_cluster.roles import absent_roles, is_combination, only_choice
from tf_cluster.schema_files import chart_values
from tf_cluster.script import script_rules
from tf_cluster.source import has_source, source_rules
from tf_cluster.yaml.document import Document

RUN_FOLDERS = ("config", "data", "lock", "logs")
"""What `tf-cluster run` keeps in runs/<name>/ beside the directories of the runs."""

_TAKES_NULL = {"resources", "podSecurityContext"}
_METHOD = ("strategy", "replication", "update")
# Without a chief this is the time that worker 0 has to save in, at least.
_OF_THE_CLIENT: Pointer = ("chief", "terminationGracePeriodSeconds")
# False says that there is none.
_HAS_EVALUATOR: Pointer = ("evaluator", "enabled")


def rules(
    document: Document, params: Mapping[str, Any], values: Values, *, for_cluster: bool
) -> list[Finding]:
    """Findings on a file whose keys in `params` (the part without findings) make `values`."""
    effective = values.effective
    return [
        *_method(document, values, effective),
        *_roles(document, values, effective),
        *_optimizer(document, values, effective),
        *_schedule(document, values, effective),
        *_resources(document, values, effective),
        *_sizes(document, values, effective),
        *_cadence(document, values, effective),
        *_run_id(document, values, effective),
        *script_rules(document, values, effective),
        *source_rules(document, values, effective),
        *variables(document, values, effective),
        *character_rules(document, values, for_cluster=for_cluster),
        *_said_twice(document, params),
        *_removed(document, params),
    ]


def cluster_rules(document: Document, values: Values) -> list[Finding]:
    """Findings that concern a cluster only; a run on this machine does without."""
    found = []
    repository = value_at(values.effective, ("image", "repository"))
    if not repository and "image" not in document.data:
        message = (
            "'image' is missing: a cluster needs the trainer image (`tf-cluster run` does not)"
        )
        fix = "add image: registry.example.com/team/trainer:1.0; `make image` builds one"
        found.append(finding_at(document, ("image",), codes.IMAGE_MISSING, message, fix=fix))
    at: Pointer = ("program", "path")
    path = value_at(values.effective, at)
    # A source with findings is left out of the values, and is one all the same.
    said = value_at(document.data, ("program", "source")) is not None
    fetched = said or has_source(values.effective)
    if path and not path.startswith("/") and not fetched:
        where = written(values, at)
        message = f"{dotted(where)} is '{path}'; in a container it has to be absolute"
        fix = "put the code in the image, or on the data volume: /data/…"
        found.append(finding_at(document, where, codes.PATH_NOT_ABSOLUTE, message, path, fix))
    script: Pointer = ("program", "script")
    name = value_at(values.effective, script)
    if name and not path and not name.startswith("/") and not fetched:
        where = written(values, script)
        message = f"{dotted(where)} is '{name}'; in a container it has to be absolute"
        fix = f"put it on the data volume, as /data/{name}, or say as program.path where it is"
        found.append(finding_at(document, where, codes.PATH_NOT_ABSOLUTE, message, name, fix))
    found += _one_volume(document, values)
    found += size_rules(document, values)
    found += guards(document, values)
    return found


def _one_volume(document: Document, values: Values) -> Iterator[Finding]:
    paths: tuple[Pointer, Pointer] = (
        ("storage", "log", "volumeName"),
        ("storage", "data", "volumeName"),
    )
    one, other = (value_at(values.effective, path) for path in paths)
    if one and one == other:
        places = [dotted(written(values, path)) for path in paths]
        message = f"{places[0]} and {places[1]} are both {one}, and a volume is bound to one claim"
        fix = "name two volumes"
        where = written(values, *paths)
        yield finding_at(document, where, codes.ONE_VOLUME_TWICE, message, one, fix)


def _method(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    chosen = [effective.get(key) for key in _METHOD]
    if is_combination(*chosen) or None in chosen:  # null is told by another rule
        return
    only = only_choice(chosen[0])
    odd = [key for key in only if effective.get(key) != only[key]]
    places = [written(values, (key,)) for key in odd]
    message = f"{' / '.join(map(str, chosen))} do not go together"
    words = " and ".join(only.values())
    fix = f"leave out {' and '.join(map(dotted, places))}: {chosen[0]} is {words}"
    yield finding_at(document, places[0], codes.NO_COMBINATION, message, effective[odd[0]], fix)


def _roles(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    if None in (effective.get(key) for key in _METHOD):
        return
    for role, why in absent_roles(effective).items():
        said = {
            origin[: 2 if origin[0] in ("resources", "extraValues") else 1]
            for path, origin in values.origins.items()
            if path[0] == role and origin != ("preset",)
            if path not in (_OF_THE_CLIENT, _HAS_EVALUATOR)
        }
        for place in sorted(said):
            message = f"{dotted(place)} is set, but {why}"
            fix = f"leave out {dotted(place)}"
            if role == "evaluator":
                fix = f"add evaluator: true, or {fix}"
            value = value_at(document.data, place)
            yield finding_at(document, place, codes.ABSENT_ROLE, message, value, fix)


def _optimizer(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    path: Pointer = ("train", "optimizer", "momentum")
    named: Pointer = ("train", "optimizer", "name")
    momentum = value_at(effective, path)
    name = value_at(effective, named)
    if momentum is not None and name not in ("Momentum", None):
        where = written(values, path)
        message = f"{dotted(where)} is {momentum}, but the optimizer is {name}"
        fix = "set train.optimizer.name: Momentum, or leave momentum out"
        yield finding_at(document, where, codes.MOMENTUM, message, momentum, fix)
    elif name == "Momentum" and not any(
        value_at(document.data, (*before, *path)) is not None for before in ((), ("extraValues",))
    ):
        where = written(values, named)
        message = f"{dotted(where)} is Momentum, without a momentum"
        code = codes.MOMENTUM_MISSING
        yield finding_at(document, where, code, message, name, "add momentum: 0.9")


def _schedule(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    at: Pointer = ("train", "optimizer", "schedule")
    schedule = value_at(effective, at) or {}
    name = schedule.get("name")
    if name == "constant":
        for key in ("decaySteps", "endFactor"):
            setting = schedule.get(key)
            if setting is None:
                continue
            where = written(values, (*at, key))
            message = f"{dotted(where)} is {setting}, but by the schedule constant nothing decays"
            fix = f"set {dotted(at)}.name: cosine, linear or exponential, or leave {key} out"
            yield finding_at(document, where, codes.NOTHING_DECAYS, message, setting, fix)
    elif name == "exponential" and not schedule.get("endFactor"):
        where = written(values, (*at, "endFactor"), (*at, "name"))
        message = "an exponential decay never comes to 0, so it needs an endFactor"
        code = codes.END_FACTOR_MISSING
        yield finding_at(
            document, where, code, message, fix="add endFactor: 0.01, or take name: cosine"
        )
    total = value_at(effective, ("train", "steps"))
    warmup = schedule.get("warmupSteps")
    if total is not None and warmup is not None and warmup >= total:
        where = written(values, (*at, "warmupSteps"), ("train", "steps"))
        message = f"the learning rate rises for {warmup} steps, and the run has {total}"
        fix = f"set {dotted(at)}.warmupSteps: {max(1, total // 20)}, say"
        yield finding_at(document, where, codes.WARMUP_TOO_LONG, message, warmup, fix, "warning")


def _resources(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    amounts: dict[tuple[str, str, str, str], Fraction] = {}
    for role in ("chief", "worker", "ps", "evaluator", "cleanup"):
        for kind in ("requests", "limits"):
            for name, amount in (value_at(effective, (role, "resources", kind)) or {}).items():
                path = (role, "resources", kind, name)
                try:
                    amounts[path] = quantity(str(amount))
                except (
                    ValueError
                ):  # the chart's schema, which extraValues is held to, takes any text
                    where = written(values, path)
                    message = f"{dotted(where)} is {excerpt(amount)}, not a Kubernetes quantity"
                    fix = "as in 500m, 2, 512Mi or 4Gi"
                    yield finding_at(document, where, codes.WRONG_FORM, message, amount, fix)
    for asked, request in amounts.items():
        role, _, kind, resource = asked
        capped = (role, "resources", "limits", resource)
        if kind != "requests" or capped not in amounts or request <= amounts[capped]:
            continue
        wanted, limit = value_at(effective, asked), value_at(effective, capped)
        message = f"{role}: the request of {wanted} {resource} is over the limit of {limit}"
        where = written(values, asked, capped)
        limits = f"resources.{role}.limits.{resource}"
        if where[0] == "extraValues":
            limits = f"extraValues.{dotted(capped)}"
        fix = f"raise {limits} or lower the request"
        yield finding_at(document, where, codes.REQUEST_OVER_LIMIT, message, wanted, fix)


def _sizes(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    for volume in ("data", "log"):
        path: Pointer = ("storage", volume, "size")
        size = value_at(effective, path)
        try:
            if size is None or quantity(size) >= 1:
                continue
            wrong = "; at least one byte is needed"
        except ValueError:  # thousands of digits
            wrong = ", which is too long for a number"
        where = written(values, path)
        message = f"{dotted(where)} is {excerpt(size)}{wrong}"
        fix = "as in 500Mi, 5Gi or 1Ti"
        yield finding_at(document, where, codes.OUT_OF_RANGE, message, size, fix)


def _cadence(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    total = value_at(effective, ("train", "steps"))
    every = value_at(effective, ("train", "checkpoint", "steps"))
    per_call = value_at(effective, ("train", "stepsPerCall"))
    if total is not None and every is not None and every > total:
        path = written(values, ("train", "checkpoint", "steps"), ("train", "steps"))
        message = f"a checkpoint every {every} steps never comes in a run of {total}"
        fix = "the last step is saved in any case"
        yield finding_at(document, path, codes.CHECKPOINT_NEVER, message, every, fix, "warning")
    if total is not None and per_call is not None and per_call > total:
        path = written(values, ("train", "stepsPerCall"), ("train", "steps"))
        message = (
            f"one call makes {per_call} steps, the run has {total}: it may end after its total"
        )
        fix = f"set train.stepsPerCall: {total} or less"
        yield finding_at(document, path, codes.STEPS_PER_CALL, message, per_call, fix, "warning")


def _run_id(document: Document, values: Values, effective: Mapping[str, Any]) -> Iterator[Finding]:
    run_id = value_at(effective, ("run", "id"))
    if run_id in RUN_FOLDERS:
        path = written(values, ("run", "id"))
        message = (
            f"{dotted(path)} is '{run_id}', which `tf-cluster run` uses for a folder of its own"
        )
        fix = "choose another id"
        yield finding_at(document, path, codes.RESERVED_RUN_ID, message, run_id, fix)


def _said_twice(document: Document, params: Mapping[str, Any]) -> Iterator[Finding]:
    plain = {key: value for key, value in params.items() if key != "extraValues"}
    if "extraValues" not in params or plain == params:
        return
    said = {
        path: origin
        for path, origin in expand(plain).origins.items()
        if origin != ("preset",) and (origin != ("strategy",) or path == origin)
    }
    inside: dict[Pointer, Pointer] = {}
    for path, origin in said.items():
        for end in range(len(path)):
            inside.setdefault(path[:end], origin)
    for path, value in leaves(params["extraValues"]):
        around = (said[path[:end]] for end in range(1, len(path) + 1) if path[:end] in said)
        other = next(around, None) or inside.get(path)
        if other:
            message = f"extraValues.{dotted(path)} sets again what {dotted(other)} sets"
            where: Pointer = ("extraValues", *path)
            yield finding_at(document, where, codes.SAID_TWICE, message, value, "keep one of them")


def _removed(document: Document, params: Mapping[str, Any]) -> Iterator[Finding]:
    """Null removes what the chart needs, except where the chart itself takes null."""
    for path, value in leaves(params.get("extraValues", {})):
        default = value_at(chart_values(), path)
        if value is None and default is not None and not _TAKES_NULL & {*path}:
            message = (
                f"extraValues.{dotted(path)} is null, which removes what the chart needs there"
            )
            where = ("extraValues", *path)
            yield finding_at(
                document, where, codes.CHART_REFUSES, message, fix="leave it out, or give a value"
            )
