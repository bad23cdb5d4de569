"""Of any TFJob: the params file is valid, the chart takes it, and no field is lost in silence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tf_cluster.check import Checked, check
from tf_cluster.convert.convert import Converted, convert
from tf_cluster.convert.settle import NOT_YET
from tf_cluster.findings.finding import errors
from tf_cluster.pointer import Pointer, dotted

from tests.chart import helm
from tests.generator.convert.drawn import Drawing
from tests.slices import sliced

IMAGE = "registry.example.com/team/trainer:1.0"
SEEDS = 300
RENDERED = 48
AT_A_TIME = 4


def _converted(seed: int) -> tuple[dict[str, Any], Converted, Checked]:
    job = Drawing(seed).job()
    made = convert("job.yaml", json.dumps(job, indent=1).encode(), image=IMAGE)
    return job, made, check("params.yaml", made.text.encode())


def _leaves(data: Any, path: Pointer = ()) -> Iterator[tuple[Pointer, Any]]:
    if isinstance(data, dict):
        for key, value in data.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from _leaves(value, (*path, index))
    else:
        yield path, data


def _lost(job: dict[str, Any], made: Converted, texts: set[str], all_text: str) -> list[str]:
    """Fields whose value is nowhere, and of which the report says neither why nor what to do.

    A value stands alone (a number, a name) or in a longer text (an argument, a directory). A role
    that is as the workers has no values of its own: what it says was compared. Names of volumes
    are only links, which `_unlike_the_pods` follows.
    """
    as_words = ("as the workers'", "0")  # backoffLimit: 0 of restartPolicy: Never
    told = {e.field for e in made.entries if e.fate != "maps" or e.words in as_words}
    lost = []
    for path, value in _leaves(job):
        is_link = len(path) > 2 and path[-1] == "name" and path[-3] in ("volumes", "volumeMounts")
        if is_link or path in (("kind",), ("apiVersion",)):
            continue
        if any(path[:end] in told for end in range(len(path) + 1)):
            continue
        text = str(value).replace("$", "$$") if "$(" in str(value) else str(value)
        is_there = text in texts or (isinstance(value, str) and text in all_text)
        if not is_there:
            lost.append(f"{dotted(path)}: {value}")
    return lost


def _texts(data: Any) -> set[str]:
    return {str(value) for _, value in _leaves(data)} | {
        str(key) for path, _ in _leaves(data) for key in path
    }


# What is read and means the same in other words: the interpreter, and a shell around a plain
# command, whose words are looked for.
_UNDERSTOOD = ("python", "python3", "-u", "sh", "bash", "-c", "-m")


def _is_command(line: str, all_text: str) -> bool:
    path, _, value = line.partition(": ")
    words = value.replace(".task", "/task").split() if ".command[" in path else [value]
    return all(word in _UNDERSTOOD or word in all_text for word in words)


@pytest.mark.parametrize("first", sliced(range(0, SEEDS, 30), 2))
def test_any_tfjob_becomes_a_valid_params_file_and_every_field_is_there_or_told(first: int) -> None:
    for seed in range(first, first + 30):
        job, made, checked = _converted(seed)
        wrong = [f.words for f in errors(checked.findings) if f.code not in NOT_YET]
        assert wrong == [], seed
        values = checked.values.effective
        # where the chart mounts claims, and what its /dev/shm is
        text = json.dumps(values, ensure_ascii=False) + "/data /log Memory"
        found = _lost(job, made, _texts(values), text)
        assert [line for line in found if not _is_command(line, text)] == [], seed


@pytest.mark.parametrize("first", sliced(range(1000, 1000 + RENDERED, AT_A_TIME), 1))
def test_the_chart_takes_it_and_every_field_is_in_what_it_makes_or_told(first: int) -> None:
    for seed in range(first, first + AT_A_TIME):
        job, made, checked = _converted(seed)
        values = json.dumps(checked.values.data)
        rendered = helm.template(values, "r", "training", str(helm.CHART))
        config = [json.loads(text) for text in rendered.one("ConfigMap", "config")["data"].values()]
        params = yaml.safe_load(made.text)
        counts = {str(params["workers"]), str(params.get("ps"))}
        texts = _texts(rendered.objects) | _texts(config) | counts
        text = rendered.text + json.dumps(config)
        found = _lost(job, made, texts, text)
        assert [line for line in found if not _is_command(line, text)] == [], seed
        assert _unlike_the_pods(job, made, rendered) == [], seed


def _unlike_the_pods(job: dict[str, Any], made: Converted, rendered: helm.Rendered) -> list[str]:
    """Variables, node labels and mounted volumes that the pods of the same role have not."""
    told = {entry.field for entry in made.entries if entry.fate != "maps"}
    roles = job["spec"]["tfReplicaSpecs"]
    unlike = []
    for kind, replicas in roles.items():
        target = {"PS": "ps", "Worker": "worker"}.get(kind, "chief")
        if kind == "Evaluator":
            continue
        if target == "chief" and not ({"PS", "Worker"} <= roles.keys()):
            if "Worker" in roles:
                continue  # it becomes a worker, and is compared with those
            target = "worker"
        kinds = ("Deployment",) if target == "ps" else ("Job",)
        pod = next(o for k in kinds for o in rendered.all(k, target))["spec"]["template"]["spec"]
        path = ("spec", "tfReplicaSpecs", kind, "template", "spec")
        wanted = replicas["template"]["spec"]
        for place, source in _mounted(wanted, path):
            is_told = any(place[:end] in told for end in range(len(place) + 1))
            if not is_told and source not in [one for _, one in _mounted(pod, ())]:
                unlike.append(f"{dotted(place)}: {source}")
        for index, one in enumerate(wanted["containers"][0].get("env", [])):
            place = (*path, "containers", 0, "env", index)
            is_told = any(place[:end] in told for end in range(len(place) + 1))
            if not is_told and one not in pod["containers"][0]["env"]:
                unlike.append(f"{dotted(place)}: {one}")
        if not wanted.get("nodeSelector", {}).items() <= pod.get("nodeSelector", {}).items():
            unlike.append(f"{kind}: nodeSelector")
    return unlike


def _mounted(pod: dict[str, Any], path: Pointer) -> Iterator[tuple[Pointer, tuple[Any, ...]]]:
    """Where what is mounted in the first container: the path, the directory, and the volume."""
    volumes = {
        one["name"]: {key: value for key, value in one.items() if key != "name"}
        for one in reversed(pod.get("volumes", []))
    }
    for index, mount in enumerate(pod["containers"][0].get("volumeMounts", [])):
        volume = json.dumps(volumes[mount["name"]], sort_keys=True)
        what = (mount["mountPath"], mount.get("subPath"), volume)
        yield (*path, "containers", 0, "volumeMounts", index), what


def test_the_same_file_makes_the_same_params() -> None:
    assert _converted(7)[1] == _converted(7)[1]
