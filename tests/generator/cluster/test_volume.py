"""Which runs go from a volume: by what the trainer sees there, and by who names them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from tf_cluster.cluster.claim_job import (
    CONTAINER_SECURITY,
    POD_SECURITY,
    Place,
    job,
    node_of,
    trainings_places,
)
from tf_cluster.cluster.pruning.naming import Names, names, said
from tf_cluster.cluster.pruning.volume import (
    Run,
    Volume,
    arguments,
    chosen,
    errand,
    merged,
    removal_of,
    size_text,
    volume_of,
)
from tf_cluster.cluster.pruning.volume_text import question, removal_text, runs_json, runs_text
from tf_cluster.exits import RefusedError
from tf_cluster.params.schema_files import printed_schema_text

from tests.generator.conftest import ROOT

DAY = 86400
NOW = int(time.time()) * 10**9
KNOWN = {"digits", "other"}
Object = dict[str, Any]


def container(**more: Any) -> Object:
    return {"containers": [{"name": "c", "image": "i", **more}]}


def with_claim(spec: Object, claim: str = "team") -> Object:
    return {**spec, "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]}


def thing(name: str, spec: Object, marks: dict[str, str] | None = None, **metadata: Any) -> Object:
    """A pod, or a Job or Deployment of such pods."""
    whole = {"name": name, "labels": marks or {}, **metadata}
    return {"metadata": whole, "spec": {**spec, "template": {"metadata": whole, "spec": spec}}}


def task(name: str, run: str, attempt: str = "0a1b2c3d", fullname: str = "digits") -> Object:
    marks = {
        "app.kubernetes.io/component": "chief",
        "app.kubernetes.io/instance": "digits",
        "app.kubernetes.io/name": "tf-cluster",
        "tf-cluster.io/attempt": attempt,
        "tf-cluster.io/run": run,
    }
    mounts = [{"name": "v", "mountPath": "/log", "subPath": "runs"}]
    spec = with_claim(container(volumeMounts=mounts))
    return thing(name, {**spec, "subdomain": f"{fullname}-{attempt}"}, marks)


def named(kind: str, one: Object) -> Names:
    return names([(kind, one)], "team", KNOWN)


@pytest.mark.parametrize("kind", ["pod", "job", "deployment"])
def test_a_task_names_its_run(kind: str) -> None:
    found = named(kind, task("digits-chief-0a1b2c3d", "7"))
    assert found.of_run("digits", "7") == f"{kind}/digits-chief-0a1b2c3d names it"
    assert not found.of_run("digits", "1")
    assert not found.of_run("other", "7")
    assert found.strangers == []


def test_a_training_may_have_another_name_than_its_release() -> None:
    found = named("job", task("vision-digits-chief-0a1b2c3d", "7", fullname="vision-digits"))
    assert found.of_run("vision-digits", "7")
    assert not found.of_run("digits", "7")


@pytest.mark.parametrize("component", ["cleanup", "test"])
def test_a_pod_beside_the_tasks_names_their_run(component: str) -> None:
    marks = {"app.kubernetes.io/component": component, "tf-cluster.io/run": "7"}
    found = named("pod", thing(f"my-{component}-x-{component}-1", container(), marks))
    assert found.of_run(f"my-{component}-x", "7")
    unknown = named("pod", thing("else", container(), marks))
    assert unknown.of_run("digits", "7")
    assert unknown.of_run("other", "7")
    assert not unknown.of_run("other", "1")


@pytest.mark.parametrize(
    "spec",
    [
        container(args=["--model_base_path=/log/digits/7/export"]),
        container(args=["--model_base_path", "/models/runs//digits/7/export/3"]),
        container(command=["sh", "-c", "serve --path='/log/digits/7/best' &"]),
        container(env=[{"name": "MODEL", "value": "pvc://team/digits/7/export"}]),
        container(env=[{"name": "MODEL", "value": "digits/7"}]),
        container(volumeMounts=[{"name": "v", "mountPath": "/m", "subPath": "digits/7/export"}]),
        {"initContainers": container(args=["cp /log/digits/7/export ."])["containers"]},
    ],
)
@pytest.mark.parametrize("kind", ["pod", "job", "deployment", "statefulset", "daemonset"])
def test_who_says_the_path_of_a_run_names_it(kind: str, spec: Object) -> None:
    found = named(kind, thing("server", with_claim(spec)))
    assert found.of_run("digits", "7") == f"{kind}/server names it"
    assert not found.of_run("digits", "77")
    assert not found.of_run("digits", "1")
    assert found.strangers == []


@pytest.mark.parametrize(
    "spec",
    [
        container(args=["tensorboard", "--logdir=/log/digits"]),
        container(args=["serve /log/digits/$(RUN)/export"]),
        container(volumeMounts=[{"name": "v", "mountPath": "/models", "subPath": "digits"}]),
    ],
)
def test_who_says_a_trainings_directory_names_all_its_runs(spec: Object) -> None:
    found = named("deployment", thing("server", with_claim(spec)))
    assert found.of_run("digits", "7")
    assert found.of_run("digits", "1")
    assert not found.of_run("other", "1")


def test_cron_jobs_config_maps_and_annotations_name_runs_too() -> None:
    pod = {"spec": container(args=["/log/digits/7/export"])}
    cron = {"metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": {"template": pod}}}}
    assert named("cronjob", cron).of_run("digits", "7") == "cronjob/nightly names it"
    texts = {"models.config": 'model_config_list { base_path: "/log/digits/7/export" }'}
    models = {"metadata": {"name": "models"}, "data": texts}
    assert named("configmap", models).of_run("digits", "7") == "configmap/models names it"
    noted = thing("server", container(), annotations={"uri": "pvc://team/digits/7/export"})
    assert named("pod", noted).of_run("digits", "7")
    assert named("configmap", {"metadata": {"name": "empty"}}).runs == {}


def test_a_page_and_what_has_ended_name_nothing() -> None:
    marks = {"app.kubernetes.io/component": "tensorboard"}
    page = thing("page", with_claim(container(args=["--logdir=/log/digits"])), marks)
    assert named("deployment", page) == Names()
    ended = thing("batch", with_claim(container(args=["/log/digits/7/export"])))
    assert named("pod", ended).runs
    assert named("pod", {**ended, "status": {"phase": "Succeeded"}}) == Names()
    over = {"conditions": [{"type": "Complete", "status": "True"}]}
    assert named("job", {**ended, "status": over}) == Names()


def test_who_mounts_the_claim_and_names_no_run_keeps_exports() -> None:
    found = named("pod", thing("reader", with_claim(container(command=["/bin/sleep", "1"]))))
    assert found.strangers == ["pod/reader"]
    assert named("pod", thing("reader", with_claim(container(), "another"))).strangers == []
    runs = (Run("digits", "1", 9, 0, exports=("export/1",)), Run("digits", "2", 9, 0))
    first, second = chosen(Volume(NOW, 18, 0, runs), found, None, 0)
    assert "pod/reader mounts the volume" in first.why
    assert second.goes


def test_words_of_a_path() -> None:
    assert set(said("a b=/log/digits/1/export, c")) == {
        ("log", "digits"),
        ("digits", "1"),
        ("1", "export"),
        ("export", ""),
    }
    assert list(said("digits 1 . -")) == []
    assert ("digits", "") in set(said("//digits//"))
    assert list(said("/ // ./.")) == []


@pytest.mark.parametrize("seed", range(200))
def test_exactly_what_may_goes(seed: int) -> None:
    draw = random.Random(seed)
    days: dict[tuple[str, str], float] = {}
    kept: set[tuple[str, str]] = set()
    runs, known = [], Names()
    for training in ("digits", "other"):
        for number in range(draw.randint(0, 6)):
            key = (training, str(number))
            days[key] = draw.choice([0.0, 1.0, 7.0, draw.random() * 100])
            keeps = draw.choice(["", "", "", "it is the newest run of its training"])
            if keeps:
                kept.add(key)
            if draw.random() < 0.2:
                kept.add(key)
                known.add(*key, "pod/a")
            runs.append(Run(*key, 5, NOW - round(days[key] * DAY * 1e9), keeps=keeps, why=keeps))
    older = draw.choice([None, 0, DAY, 7 * DAY])
    keep = draw.choice([None, 0, 1, 3])
    gone = set()
    for key, age in days.items():
        younger = [
            other for other in days if other[0] == key[0] and (-days[other], other) > (-age, key)
        ]
        is_old = older is None or age * DAY >= older
        if key not in kept and is_old and len(younger) >= (keep or 0):
            gone.add(key)
    draw.shuffle(runs)
    found = chosen(Volume(NOW, 0, 0, tuple(runs)), known, older, keep)
    assert {(one.training, one.run) for one in found if one.goes} == gone
    assert len(found) == len(days)


def test_the_newest_one_to_keep_is_the_trainers_newest(tmp_path: Path) -> None:
    for name in ("a", "c", "b"):
        run_on_disk(tmp_path, "digits", name, 9)
    for path in tmp_path.rglob("*"):
        os.utime(path, (NOW // 10**9 - 9 * DAY,) * 2)
    found = chosen(volume_of(trainer("--log", str(tmp_path), "list")), Names(), None, 1)
    assert {one.run for one in found if not one.goes} == {"c"}


def test_the_place_of_a_training_is_that_of_its_pods() -> None:
    early = {"creationTimestamp": "2026-11-01T00:00:00Z"}
    one, two = task("digits-chief-0a1b2c3d", "1"), task("digits-chief-ffffffff", "2", "ffffffff")
    one["metadata"].update(early)
    two["metadata"].update(creationTimestamp="2026-11-02T00:00:00Z")
    spec = two["spec"]["template"]["spec"]
    spec["containers"][0].update(image="r/i:2", securityContext={"a": 1})
    spec.update(imagePullSecrets=[{"name": "s"}], securityContext={"runAsUser": 7}, priority=3)
    found = trainings_places("vision", [("job", one), ("job", two), ("pod", two)])
    assert [place.place.image for place in found] == ["r/i:2", "i"]
    newest = found[0]
    assert (newest.release, newest.chart, newest.directory) == ("digits", "tf-cluster", "digits")
    assert newest.place == Place(
        "vision",
        "team",
        "r/i:2",
        "runs",
        {"imagePullSecrets": [{"name": "s"}]},
        {"runAsUser": 7},
        {"a": 1},
    )
    made = job(newest.place, "prune-1", errand(newest.place, ["list"]), 60)
    (mount, _) = made["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert mount == {"name": "log", "mountPath": "/log", "readOnly": True, "subPath": "runs"}
    assert "priority" not in made["spec"]["template"]["spec"]
    assert named("job", dict(made)) == Names()


def test_a_node_is_preferred_where_one_alone_has_the_claim() -> None:
    def on(node: str, **status: str) -> tuple[str, Object]:
        pod = thing(node, with_claim({**container(), "nodeName": node}))
        return "pod", {**pod, "status": status}

    assert node_of([on("a"), on("a")], "team") == "a"
    assert node_of([on("a"), on("b")], "team") == ""
    assert node_of([on("a"), on("b", phase="Failed")], "team") == "a"
    assert node_of([on("a")], "another") == ""


def test_without_a_training_the_pod_is_what_the_chart_makes_it() -> None:
    values = yaml.safe_load((ROOT / "charts" / "tf-cluster" / "values.yaml").read_text())
    assert values["security"]["podSecurityContext"] == POD_SECURITY
    assert values["pod"]["containerSecurityContext"] == CONTAINER_SECURITY


def test_sizes_are_read_by_people() -> None:
    sizes = [0, 900, 1024, 150 * 1024, 3.4 * 2**30, 2**44]
    assert [size_text(size) for size in sizes] == [
        "0 B",
        "900 B",
        "1.0 KiB",
        "150 KiB",
        "3.4 GiB",
        "16.0 TiB",
    ]


def run_on_disk(log: Path, training: str, run: str, days: float) -> None:
    path = log / training / run
    (path / "export" / "1").mkdir(parents=True)
    for name in ("owner.json", "progress.json", "export/1/saved_model.pb"):
        (path / name).write_text("{}")
    when = time.time() - days * DAY
    for folder, _, files in os.walk(path):
        for name in files:
            os.utime(Path(folder, name), (when, when))
        os.utime(folder, (when, when))


def trainer(*words: str) -> Any:
    """The last document that the trainer prints."""
    command = "from tf_cluster_trainer.supervisor.main import main; main()"
    done = subprocess.run(
        (sys.executable, "-c", command, "prune-runs", *words),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def test_the_tool_and_the_trainer_understand_each_other(tmp_path: Path) -> None:
    for number in range(4):
        run_on_disk(tmp_path, "digits", str(number), 10 + number)
    (tmp_path / "digits" / ".pruned-x-1").mkdir()
    (tmp_path / "digits" / "not\nours").mkdir()
    volume = volume_of(trainer("--log", str(tmp_path), "list"))
    runs = chosen(volume, Names({("digits", "2"): "pod/server"}), None, 0)
    assert {one.run: one.why for one in runs} == {
        "0": "it is the newest run of its training",
        "1": "",
        "2": "pod/server names it",
        "3": "",
    }
    going = [one for one in runs if one.goes]
    text = runs_text(volume, runs)
    assert [line.split()[1] for line in text.splitlines()[1:4]] == [".pruned-x-1", "1", "3"]
    assert "left alone: digits/not\\nours: no training gives such a name\n" in text
    assert "remove 3 runs from claim team" in question(going, volume, "team")
    assert "with 2 exported models" in question(going, volume, "team")

    words = [word for one in arguments(going) for word in ("--run", json.dumps(one))]
    removal = removal_of(trainer("--log", str(tmp_path), "remove", *words))
    assert sorted(path.name for path in (tmp_path / "digits").iterdir()) == ["0", "2", "not\nours"]
    assert removal.before == volume.size > removal.after > 0
    assert merged([removal]) == removal
    assert "digits/1 removed\n" in removal_text(runs, removal)
    schema = Draft7Validator(json.loads(printed_schema_text("prune-runs")))
    for made in (None, removal):
        document = runs_json(Place("vision", "team", "i"), volume, runs, made, older=None, keep=0)
        schema.validate(document)
        outcomes = {one["run"]: one["outcome"] for one in document["runs"]}
        word = "removed" if made else "goes"
        assert outcomes == {"0": "stays", "1": word, "2": "stays", "3": word}
        assert document["halfRemoved"][0]["outcome"] == word


@pytest.mark.parametrize("document", [{}, {"format": "tf-cluster.io/volume/v2"}, {"runs": 3}])
def test_what_another_trainer_says_is_refused(document: Object) -> None:
    with pytest.raises(RefusedError, match="can't read"):
        volume_of(document)
    with pytest.raises(RefusedError, match="can't read"):
        removal_of(document)
