"""The values of a server of one model, and of one more model on a server that is there."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any

from tf_cluster import __version__
from tf_cluster.cluster.claim_job import TrainingsPlace
from tf_cluster.cluster.pruning.volume import size_text
from tf_cluster.cluster.serving.exports import Export
from tf_cluster.cluster.serving.promotion import STABLE, Wanted
from tf_cluster.cluster.serving.servers import CHART_NAME, ON_CLAIMS
from tf_cluster.cluster.serving.sharing import of_one_claim, with_another
from tf_cluster.exits import RefusedError
from tf_cluster.files import read_input
from tf_cluster.printable import printable
from tf_cluster.versions import CHART_RANGE, MARK
from tf_cluster.yaml.helm_scalars import AMBIGUOUS
from tf_cluster.yaml.reader import MAX_BYTES, read_document
from tf_cluster.yaml.writer import yaml_text

EXPORT, BEST = "export", "best"
MEBIBYTE = 2**20
SERVER_BYTES = 256 * MEBIBYTE
"""What a server takes without a model."""
SHARE = 1.5
"""Memory of a loaded version, in the size of its files: its variables, and what a request needs."""
STEP = 64 * MEBIBYTE
LEAST_LIMIT = 2048 * MEBIBYTE
"""The chart's own limit: a small model is no reason for less."""
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?")
"""A run's id, and a model's name."""
_OURS = re.compile(r"[0-9]+Mi")


@dataclass(frozen=True)
class Source:
    """Where versions of a model lie: on a claim, at a path from its root.

    `values` is what the chart's `source` says of it, `words` what people call it.
    """

    claim: str
    path: str
    values: Mapping[str, Any]
    words: str


def of_training(place: TrainingsPlace, run: str, directory: str) -> Source:
    """The exports of a run of a training: `export`, or the evaluator's `best`. RefusedError."""
    if not _NAME.fullmatch(run):
        raise RefusedError(f"--run {run}: no run has such an id")
    inside = f"{place.directory}/{run}/{directory}"
    claim, sub_path = place.place.claim, place.place.sub_path.strip("/")
    words = f"{'the best of ' if directory == BEST else ''}run {run} of {place.directory}"
    if sub_path:
        path = f"{sub_path}/{inside}"
        return Source(claim, path, {"claim": {"name": claim, "path": path}}, words)
    named = {} if claim == f"{place.directory}-log" else {"claim": claim}
    source = {"release": place.directory, "id": run, "directory": directory, **named}
    return Source(claim, inside, {"run": source}, words)


def of_claim(text: str, option: str) -> Source:
    """The versions in a directory of a claim, of `CLAIM/PATH`. Raises RefusedError."""
    claim, path = claim_and_path(text, option)
    return Source(claim, path, {"claim": {"name": claim, "path": path}}, f"claim {text}")


def refuse_no_model(name: str) -> None:
    """Refuse what can't be the name of a model. Raises RefusedError."""
    if not _NAME.fullmatch(name):
        raise RefusedError(
            f"{name!r} can't be a model's name: letters, digits, '.', '_' and '-', with a letter "
            "or digit first and last"
        )


def claim_and_path(text: str, option: str) -> tuple[str, str]:
    """The two parts of `CLAIM/PATH`. Raises RefusedError."""
    if "://" in text:
        s3 = ". tensorflow/serving reads no S3 since 2.7 (tensorflow/serving#1963)"
        ways = (
            ". Copy the model to a claim, pack it into an image (tf-cluster package), or give the "
            "chart an HTTP(S) address and the file's hash (source.url)"
        )
        raise RefusedError(
            f"{option} {text}: write CLAIM/PATH, such as models/digits, and no address"
            f"{s3 if text.startswith('s3:') else ''}{ways if option == '--claim' else ''}"
        )
    claim, _, path = text.strip("/").partition("/")
    parts = path.split("/")
    if not claim or not path or any(one in ("", ".", "..") for one in parts):
        raise RefusedError(f"{option} {text}: write a claim and a directory on it: models/digits")
    return claim, path


def place_in_values(source: Mapping[str, Any]) -> tuple[str, str]:
    """The claim and the path that a `source` in values says; both empty for other kinds."""
    if run := source.get("run"):
        release = str(run.get("release", ""))
        where = f"{release}/{run.get('id', '1')}/{run.get('directory', EXPORT)}"
        return str(run.get("claim") or f"{release}-log"), where
    if claim := source.get("claim"):
        return str(claim.get("name", "")), str(claim.get("path") or "").strip("/")
    return "", ""


def memory(size: int) -> int:
    """Bytes for a server of a model whose versions have `size`: a switch holds two of them."""
    return math.ceil((SERVER_BYTES + 2 * SHARE * size) / STEP) * STEP


def memory_text(size: int) -> str:
    """The same as a quantity: `384Mi`."""
    return _mebibytes(memory(size))


def memory_words(size: int) -> str:
    """How it comes to be, in words."""
    return (
        f"memory {memory_text(size)}: two versions of {size_text(size)} while they switch, each "
        f"{SHARE:g} times its files, and {size_text(SERVER_BYTES)} for the server"
    )


def model_values(source: Source, wanted: Wanted) -> dict[str, Any]:
    """A model's part of the values."""
    made: dict[str, Any] = {"source": dict(source.values), "policy": dict(wanted.policy)}
    return {**made, **({"labels": dict(wanted.labels)} if wanted.labels else {})}


def wanted_at_first(export: Export, *, is_fixed: bool) -> Wanted:
    """What a new server has: this version as the stable one, or always the newest."""
    if not is_fixed:
        return Wanted({"latest": 1})
    return Wanted({"specific": [export.number]}, {STABLE: export.number})


def server_values(
    model: str, source: Source, wanted: Wanted, size: int, **more: Any
) -> dict[str, Any]:
    """The values of a server of one model; `more` are sections of the chart beside these."""
    needed = memory(size)
    return {
        "models": {model: model_values(source, wanted)},
        # Else a later model whose name comes first would restart the pods.
        "server": {"readinessModel": model},
        "resources": _memory(needed),
        **more,
    }


def with_model(
    there: Mapping[str, Any], model: str, values: Mapping[str, Any], release: str
) -> dict[str, Any]:
    """The values of a server that is there, with one more model or another source of one.

    Memory is the sum: of what is there and of a new model, without a second server. Raises
    RefusedError for a model of this name from elsewhere, and one whose versions `promote` moves.
    """
    models = dict(there.get("models") or {})
    new = values["models"][model]
    old = models.get(model)
    if old is not None:
        refuse_other_model(release, model, old, new)
        is_chosen = bool((old.get("policy") or {}).get("specific"))
        if is_chosen and _wanted(new) != _wanted(old):
            raise RefusedError(
                f"release {release} serves chosen versions of {model}: tf-cluster promote "
                f"{model} VERSION moves them"
            )
        if "specific" not in new["policy"]:  # how many, and which labels, somebody chose
            new = {**old, "source": new["source"]}
    sections = ("server", "storage", "resources")
    merged = {**there, **{key: value for key, value in values.items() if key not in sections}}
    merged |= _with_its_claim(there, values, model)
    if old is None:
        # Whichever of the models was asked for is asked for on.
        server, first = dict(there.get("server") or {}), min(models, default=model)
        server["readinessModel"] = server.get("readinessModel") or first
        merged["server"] = server
    if "service" in values:  # what somebody chose beside our keys stays: who may reach it, for one
        merged["service"] = {**(there.get("service") or {}), **values["service"]}
    merged["models"] = {**models, model: new}
    merged["resources"] = _resources(there.get("resources") or {}, values, is_new=old is None)
    return merged


def _with_its_claim(
    there: Mapping[str, Any], values: Mapping[str, Any], model: str
) -> dict[str, Any]:
    """The section `storage` with a model's claim; nothing where that is mounted already."""
    models = there.get("models") or {}
    places = {name: place_in_values(one.get("source") or {}) for name, one in models.items()}
    mounted = {claim for claim, _ in places.values()}
    if place_in_values(values["models"][model]["source"])[0] in mounted:
        return {}
    others = any(claim for name, (claim, _) in places.items() if name != model)
    merged = with_another if others else of_one_claim
    made = merged(there.get("storage") or {}, values.get("storage") or {})
    return {"storage": made} if made or "storage" in there else {}


def _wanted(model: Mapping[str, Any]) -> tuple[Any, Any]:
    return model.get("policy") or {}, model.get("labels") or {}


def is_elsewhere(there: Mapping[str, Any] | None, now: Mapping[str, Any], model: str) -> bool:
    """Whether a model that a release had comes from another directory than before."""
    before, after = (((one or {}).get("models") or {}).get(model) or {} for one in (there, now))
    return bool(before) and before.get("source") != after.get("source")


def refuse_other_model(
    release: str, model: str, old: Mapping[str, Any], new: Mapping[str, Any]
) -> None:
    """Refuse a second model of a name: one of another place than it has. Raises RefusedError.

    Another run of the same training is the same model.
    """
    before, after = (one.get("source") or {} for one in (old, new))
    if before == after:
        return
    both = (before.get("run") or {}, after.get("run") or {})
    if all(both) and both[0].get("release") == both[1].get("release"):
        return
    kind = next(iter(before), "")
    claim, path = place_in_values(before)
    where = f"claim {claim}/{path}" if kind in ON_CLAIMS else f"its {kind}"
    raise RefusedError(
        f"release {release} serves a model {model} already, from {where}: give this one another "
        "name with --model, or take another --release"
    )


def _memory(needed: int) -> dict[str, Any]:
    """Requests and limits of the server for so many bytes."""
    return {
        "requests": {"memory": _mebibytes(needed)},
        "limits": {"memory": _mebibytes(max(LEAST_LIMIT, 2 * needed))},
    }


def _mebibytes(size: int) -> str:
    return f"{size // MEBIBYTE}Mi"


def _resources(
    there: Mapping[str, Any], values: Mapping[str, Any], *, is_new: bool
) -> dict[str, Any]:
    """What a server asks for with one more model. Amounts that somebody chose are left."""
    parts = [one.get("requests") or {} for one in (there, values["resources"])]
    before, new = (str(one.get("memory") or "") for one in parts)
    if before and not _OURS.fullmatch(before):
        return dict(there)
    needed = int(new[:-2]) * MEBIBYTE
    if before:
        asked = int(before[:-2]) * MEBIBYTE
        needed = asked + needed - SERVER_BYTES if is_new else max(asked, needed)
    made = _memory(needed)
    limit = str((there.get("limits") or {}).get("memory") or "")
    if limit and not _OURS.fullmatch(limit):
        made["limits"] = {}
    elif limit:  # a higher one was chosen: a lower one would end the server
        most = max(int(limit[:-2]), int(made["limits"]["memory"][:-2]))
        made["limits"] = {"memory": f"{most}Mi"}
    return {**there, **{key: {**(there.get(key) or {}), **made[key]} for key in made}}


def values_text(values: Mapping[str, Any], words: Sequence[str], release: str) -> str:
    """The values file: the same bytes for the same training, export and tool version.

    `words` say what is served, a line each.
    """
    lines = [
        f"# Values for the chart {CHART_NAME} {CHART_RANGE}, as tf-cluster serve makes them.",
        *(f"# {printable(line)}" for line in words),
        f"{MARK}{__version__}. To install them:",
        f"# helm upgrade --install {quote(release)} charts/{CHART_NAME} --values FILE",
    ]
    return "".join(f"{line}\n" for line in lines) + yaml_text(dict(values))


def layers(values: Mapping[str, Any], files: Sequence[str]) -> list[Mapping[str, Any]]:
    """Values and files of them, of which the last counts.

    Raises RefusedError for a file that can't be read.
    """
    made = [values]
    for file in files:
        document = read_document(file, read_input(file, MAX_BYTES + 1))
        for wrong in document.findings:
            if wrong.code is not AMBIGUOUS:  # helm reads it, if not as it looks
                place = f"{file}:{wrong.place.line}:{wrong.place.column}"
                raise RefusedError(f"{place}: {wrong.words}")
        made.append(document.data)
    return made


def chosen_image(values: Sequence[Mapping[str, Any]], settings: Sequence[str], usual: str) -> str:
    """The server's image by layers of values and --set, of which the last counts.

    `usual` is the chart's own tag.
    """
    image: dict[str, str] = {"repository": "tensorflow/serving", "tag": usual}
    image |= _texts(chosen_part("image", values, settings))
    if image.get("digest"):
        return f"{image['repository']}@{image['digest']}"
    return f"{image['repository']}:{image['tag'] or usual}"


def chosen_part(
    name: str, values: Sequence[Mapping[str, Any]], settings: Sequence[str]
) -> dict[str, Any]:
    """A part of the values by layers of them and --set, of which the last counts.

    Of --set, what YAML takes for a truth value or a whole number is one, but in `image`: a tag is
    text.
    """
    part: dict[str, Any] = {}
    for some in values:
        given = some.get(name)
        part |= given if isinstance(given, Mapping) else {}
    for setting in settings:
        for one in re.split(r"(?<!\\),", setting):
            key, _, text = one.partition("=")
            if key.startswith(f"{name}."):
                part[key.removeprefix(f"{name}.")] = text if name == "image" else _scalar(text)
    return part


def _scalar(text: str) -> Any:
    """As helm's --set reads it."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.isascii() and text.isdecimal() else text


def _texts(given: Mapping[str, Any]) -> dict[str, str]:
    return {str(key): str(value) for key, value in given.items() if isinstance(value, str)}
