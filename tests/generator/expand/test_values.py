"""From params to values: examples word for word, presets, and what the real helm makes of them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster import __version__
from tf_cluster.check import check
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.preset import PRESETS
from tf_cluster.expand.values_file import values_text

from tests.chart.helm import APIS
from tests.generator.conftest import ROOT
from tests.generator.helm_reader import HelmReader

EXAMPLES = sorted((ROOT / "values-examples").glob("*.params.yaml"))
CHART = ROOT / "charts" / "tf-cluster"
GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"


def values_of(text: str) -> dict[str, Any]:
    checked = check("p", text.encode())
    assert [one for one in checked.findings if one.severity != "advice"] == []
    return checked.values.data


def generated(params: Path) -> str:
    checked = check(params.name, params.read_bytes(), folder=params.parent)
    assert checked.findings == ()
    preset = preset_name(checked.document.data)
    return values_text(checked.values, params.name, preset, values_of_example(params).name)


def values_of_example(params: Path) -> Path:
    return params.with_name(params.name.replace(".params.", ".values."))


def example_id(path: Path) -> str:
    return path.name.partition(".")[0]


@pytest.mark.parametrize("params", EXAMPLES, ids=example_id)
def test_the_example_values_are_what_their_params_make(params: Path) -> None:
    """To write them anew: tf-cluster generate X.params.yaml -o X.values.yaml."""
    assert values_of_example(params).read_text() == generated(params)


@pytest.mark.parametrize("params", EXAMPLES, ids=example_id)
def test_the_chart_renders_the_example_values(params: Path, helm: str, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(generated(params))

    ran = subprocess.run(
        (
            *(helm, "template", "r", str(CHART), "-f", str(tmp_path / "values.yaml")),
            *(f"--api-versions={api}" for api in APIS),
        ),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    documents = [d for d in yaml.safe_load_all(ran.stdout) if d and d["kind"] == "Job"]
    jobs = {d["metadata"]["labels"]["app.kubernetes.io/component"] for d in documents}
    values = check("p", params.read_bytes(), folder=params.parent).values.data
    chief = set() if values.get("replication") == "between-graph" else {"chief"}
    cleanup = set() if values.get("strategy") == "all-reduce" else {"cleanup"}
    evaluator = {"evaluator"} if "evaluator" in values else set()
    assert jobs == {"worker"} | chief | cleanup | evaluator


@pytest.mark.parametrize("params", EXAMPLES, ids=example_id)
def test_helm_reads_the_values_we_meant(params: Path, helm_reader: HelmReader) -> None:
    checked = check(params.name, params.read_bytes(), folder=params.parent)

    read = helm_reader.read(generated(params))

    read.pop("global", None)
    assert read == json.loads(json.dumps(checked.values.data))


@pytest.mark.parametrize("preset", list(PRESETS))
def test_a_preset_decides_tasks_and_access_modes(preset: str) -> None:
    values = values_of(GOOD + f"preset: {preset}\n")

    tasks = {"small": (2, 1), "medium": (4, 1), "large": (8, 4)}[preset]
    mode = "ReadWriteOnce" if preset == "small" else "ReadWriteMany"
    assert (values["worker"]["replicas"], values["ps"]["replicas"]) == tasks
    assert values["storage"]["log"]["accessModes"] == [mode]
    assert values["storage"]["data"]["accessModes"] == [mode]


@pytest.mark.parametrize("preset", list(PRESETS))
@pytest.mark.parametrize("key", ["strategy", "extraValues"])
def test_all_reduce_says_the_whole_method_and_nothing_of_roles_it_has_not(
    preset: str, key: str
) -> None:
    word = "all-reduce" if key == "strategy" else "{strategy: all-reduce}"
    values = values_of(GOOD + f"preset: {preset}\n{key}: {word}\n")

    method = [values[name] for name in ("strategy", "replication", "update")]
    assert method == ["all-reduce", "between-graph", "sync"]
    assert values["worker"]["replicas"] == {"small": 2, "medium": 4, "large": 8}[preset]
    assert not {"ps", "chief"} & values.keys()


@pytest.mark.parametrize("preset", list(PRESETS))
def test_between_graph_has_ps_but_no_chief(preset: str) -> None:
    values = values_of(GOOD + f"preset: {preset}\nreplication: between-graph\n")

    assert values["replication"] == "between-graph"
    assert "update" not in values  # the chart's default, async
    assert values["ps"]["replicas"] == (4 if preset == "large" else 1)
    assert "chief" not in values


@pytest.mark.parametrize("text", ["strategy: all-reduce", "replication: between-graph"])
@pytest.mark.parametrize("preset", list(PRESETS))
def test_the_chart_renders_trainings_without_a_chief(
    preset: str, text: str, helm: str, tmp_path: Path
) -> None:
    checked = check("p", (GOOD + f"preset: {preset}\n{text}\n").encode())
    (tmp_path / "values.yaml").write_text(values_text(checked.values, "p", preset))

    ran = subprocess.run(
        (helm, "template", "r", str(CHART), "-f", str(tmp_path / "values.yaml")),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ran.returncode == 0, ran.stderr
    kinds = [d["kind"] for d in yaml.safe_load_all(ran.stdout) if d]
    ps = 0 if "all-reduce" in text else checked.values.effective["ps"]["replicas"]
    assert (kinds.count("Deployment"), kinds.count("Job")) == (ps, 2 if ps else 1)


def test_what_the_file_says_wins_over_its_preset_key_by_key() -> None:
    values = values_of(
        GOOD + "preset: large\nworkers: 3\nresources: {worker: {requests: {cpu: 1}}}\n"
    )

    assert values["worker"] == {
        "replicas": 3,
        "resources": {"requests": {"cpu": "1", "memory": "8Gi"}, "limits": {"memory": "16Gi"}},
    }


@pytest.mark.parametrize(
    ("image", "parts"),
    [
        ("trainer", {"repository": "trainer", "tag": __version__}),
        ("r.io:5000/a/b", {"repository": "r.io:5000/a/b", "tag": __version__}),
        ("r.io:5000/a/b:7e5", {"repository": "r.io:5000/a/b", "tag": "7e5"}),
        (
            "a/b@sha256:" + "0" * 64,
            {"repository": "a/b", "digest": "sha256:" + "0" * 64},
        ),
    ],
)
def test_an_image_is_taken_apart(image: str, parts: dict[str, str]) -> None:
    assert values_of(GOOD.replace("r/i:1", f"'{image}'"))["image"] == parts


def test_a_tag_that_looks_like_a_number_stays_text_in_helm(helm_reader: HelmReader) -> None:
    checked = check("p", GOOD.replace("r/i:1", "r/i:7e5").encode())

    read = helm_reader.read(values_text(checked.values, "p", "small"))

    assert read["image"]["tag"] == "7e5"


def test_quantities_given_as_numbers_travel_as_text() -> None:
    values = values_of(
        GOOD
        + "resources: {ps: {requests: {cpu: 0.5, memory: 1000000000}}}\ndata: {size: 7000000000}\n"
    )

    assert values["ps"]["resources"]["requests"] == {"cpu": "0.5", "memory": "1000000000"}
    assert values["storage"]["data"]["size"] == "7000000000"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("3.1234567", "3.1234567"),
        ("2.0", "2"),
        ("1e-7", "0.0000001"),
        ("1e22", "1" + 22 * "0"),
        ("4294967296", "4294967296"),
    ],
)
def test_a_quantity_given_as_a_number_keeps_its_digits(number: str, text: str) -> None:
    values = values_of(GOOD + f"resources: {{ps: {{requests: {{cpu: {number}}}}}}}\n")

    assert values["ps"]["resources"]["requests"] == {"cpu": text}


@pytest.mark.parametrize("size", ["1000000", "1.5e+20", "0.5Gi", "1000000.0"])
def test_a_size_is_written_as_the_chart_takes_it(size: str) -> None:
    checked = check("p", (GOOD + f"data: {{size: {size}}}\n").encode())

    assert checked.findings == ()


@pytest.mark.parametrize(
    ("said", "made"),
    [
        ("true", {"enabled": True}),
        ("false", {"enabled": False}),
        ("{}", {"enabled": True}),
        (
            "{exportBest: {metric: loss, mode: min}}",
            {"enabled": True, "exportBest": {"metric": "loss", "mode": "min"}},
        ),
    ],
)
def test_an_evaluator_is_there_when_it_is_asked_for(said: str, made: dict[str, Any]) -> None:
    assert values_of(GOOD + f"evaluator: {said}\n")["evaluator"] == made


def test_the_presets_resources_of_an_evaluator_go_with_it() -> None:
    assert "evaluator" not in values_of(GOOD + "preset: medium\n")
    values = values_of(GOOD + "preset: medium\nevaluator: true\n")
    assert values["evaluator"] == {"enabled": True, **PRESETS["medium"]["evaluator"]}


def test_an_empty_class_is_passed_on() -> None:
    values = values_of(GOOD + "data: {class: '', volume: v}\n")

    assert values["storage"]["data"]["storageClassName"] == ""


def test_extra_values_are_merged_and_win_over_the_preset() -> None:
    values = values_of(
        GOOD + "extraValues: {worker: {replicas: 5, nodeSelector: {a: b}}, chief: {affinity: {}}}\n"
    )

    assert values["worker"] == {"replicas": 5, "nodeSelector": {"a": "b"}}


def test_extra_values_may_remove_a_limit() -> None:
    checked = check("p", (GOOD + "extraValues: {worker: {resources: {limits: null}}}").encode())

    assert checked.findings == ()
    assert "limits" not in checked.values.effective["worker"]["resources"]


def test_only_what_was_decided_is_written() -> None:
    assert list(values_of(GOOD)) == [
        "fullnameOverride",
        "image",
        "program",
        "worker",
        "ps",
        "storage",
    ]


DIGEST = "sha256:" + "0" * 64


@pytest.mark.parametrize(
    ("text", "image"),
    [
        (GOOD.replace("r/i:1", "r/i"), {"repository": "r/i", "tag": __version__}),
        (GOOD.replace("r/i:1", f"r/i@{DIGEST}"), {"repository": "r/i", "digest": DIGEST}),
        (
            GOOD.replace("r/i:1", "r/i") + "extraValues: {image: {tag: '2'}}",
            {"repository": "r/i", "tag": "2"},
        ),
        (
            GOOD.replace("r/i:1", "r/i") + f"extraValues: {{image: {{digest: '{DIGEST}'}}}}",
            {"repository": "r/i", "digest": DIGEST},
        ),
        (
            GOOD.replace("r/i:1", "r/i") + "extraValues: {image: {tag: '', pullPolicy: Always}}",
            {"repository": "r/i", "tag": __version__, "pullPolicy": "Always"},
        ),
        (
            GOOD.replace("image: r/i:1\n", "") + "extraValues: {image: {repository: r/i}}",
            {"repository": "r/i", "tag": __version__},
        ),
    ],
)
def test_the_values_always_say_which_image(text: str, image: dict[str, str]) -> None:
    """Else another appVersion of the chart would be another image, and restart the training."""
    assert values_of(text)["image"] == image


def test_the_tag_we_write_is_the_one_the_chart_would_take() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())

    assert chart["appVersion"] == __version__
