"""What has to hold for a drawn params file: that it is taken by all, or refused with a place."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

import tf_cluster
import yaml
from tf_cluster.findings.finding import Finding, errors
from tf_cluster.pointer import json_pointer
from tf_cluster_trainer.config import Files

from tests.chart.fuzz.params import ParamsFile
from tests.chart.fuzz.trainer import config_of, params_complaint, release_complaint
from tests.chart.helm import CHART, RefusedError, Rendered, command, merged, template
from tests.generator.helm_reader import HelmReader

DEFAULTS = yaml.safe_load((CHART / "values.yaml").read_text())
# Findings on the program's code; the last is a warning.
OF_THE_CODE = "TFC5"


def loaded(file: ParamsFile) -> tf_cluster.Loaded:
    """What the tool makes of it, without a process."""
    return tf_cluster.load(file.text, file="p.yaml", read=file.code.files)


def refused(file: ParamsFile, found: tf_cluster.Loaded) -> Iterator[str]:
    """What is wrong with the errors of a file that is refused."""
    lines = file.text.split("\n")
    for one in errors(found.findings):
        place = one.place
        if not (1 <= place.line <= len(lines) and 1 <= place.column <= len(lines[place.line - 1])):
            yield f"no place in the file: {words(one)}"
        if one.file != "p.yaml" or not one.message:
            yield f"no file or no words: {words(one)}"
        if one.pointer and not _is_in(file.params, one.pointer[:-1]):
            yield f"no key in the file: {words(one)}"
    of_code = [one for one in errors(found.findings) if one.code.startswith(OF_THE_CODE)]
    if of_code and not params_complaint(file.code.files, file.params):
        yield f"the trainer takes the program: {words(of_code[0])}"


def words(one: Finding) -> str:
    """A finding in a line."""
    place = f"{one.place.line}:{one.place.column}"
    return f"{place} {one.code} {json_pointer(one.pointer)} {one.words}"


def _is_in(value: Any, path: tuple[Any, ...]) -> bool:
    for key in path:
        if not (isinstance(value, Mapping) and key in value):
            return isinstance(value, list) and isinstance(key, int)
        value = value[key]
    return True


def taken(file: ParamsFile, found: tf_cluster.Loaded, reader: HelmReader) -> list[str]:
    """What Helm and the trainer have against a file that the tool takes."""
    text = tf_cluster.generate(found)
    read = reader.read(text)
    if _typed(read) != _typed(found.values):
        return [f"Helm reads other values: {_typed(read)}, not {_typed(found.values)}"]
    written = {**file.params.get("extraValues", {})}
    written |= {"flags": file.params["flags"]} if file.params.get("flags") else {}
    if written.get("image", {}).get("tag") == "":  # the tool writes the one that it stands for
        written = merged(written, {"image": {"tag": None}})
    seen = merged(DEFAULTS, read)  # an empty mapping takes nothing from the chart's own
    if _typed(merged(seen, _given(written))) != _typed(seen):
        return [f"Helm reads {_typed(read)}, and the file says {_typed(written)}"]
    try:
        rendered = rendered_of(text, file.params["name"], "training")
    except RefusedError as error:
        return [f"helm template: {error}"]
    return [*linted(text), *of_the_trainer(file, found, rendered)]


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    """Values without the nulls of mappings, which Helm takes out."""
    return {
        key: _given(value) if isinstance(value, Mapping) else value
        for key, value in values.items()
        if value is not None
    }


def _typed(value: Any) -> str:
    """A value in words that tell its type; a whole number is one, as in JSON."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _whole(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def rendered_of(text: str, release: str, namespace: str) -> Rendered:
    """`helm template` of the text of a values file. Raises RefusedError."""
    return template.__wrapped__(text, release, namespace, str(CHART))


def linted(text: str) -> list[str]:
    """The errors and warnings of `helm lint`."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as values:
        values.write(text)
        values.flush()
        done = command("lint", str(CHART), "--quiet", f"--values={values.name}")
    return [f"helm lint: {done.stdout}{done.stderr}"] if done.returncode or done.stdout else []


def of_the_trainer(file: ParamsFile, found: tf_cluster.Loaded, rendered: Rendered) -> list[str]:
    """What the trainer has against a release: its configuration, the code, flags and arguments."""
    config = config_of(rendered)
    said = []
    if _typed(config.flags) != _typed(found.values.get("flags", {})):
        said.append(f"training.json has other flags: {config.flags}")
    if file.code.files:
        source = config.settings.source
        assert isinstance(source, Files)
        if {**source.contents} != {**file.code.files}:
            said.append("the source has other texts")
        evaluator = found.values.get("evaluator", {})
        best = evaluator.get("exportBest", {}) if evaluator.get("enabled") else {}
        wrong = release_complaint(config, best.get("metric", ""))
        said += [f"the trainer refuses the program: {wrong}"] if wrong else []
    return said
