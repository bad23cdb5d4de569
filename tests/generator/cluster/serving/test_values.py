"""The values of a server: what they say of a training, and that the chart takes them."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tf_cluster.cluster.claim_job import Place, TrainingsPlace
from tf_cluster.cluster.serving.exports import Export
from tf_cluster.cluster.serving.promotion import Wanted, promotion, rolled_back
from tf_cluster.cluster.serving.releasing import CHART, with_wanted
from tf_cluster.cluster.serving.servers import Model, servers
from tf_cluster.cluster.serving.sharing import BESIDE, storage_values
from tf_cluster.cluster.serving.values import (
    MEBIBYTE,
    Source,
    chosen_image,
    chosen_part,
    is_elsewhere,
    layers,
    memory,
    model_values,
    of_claim,
    of_training,
    place_in_values,
    server_values,
    values_text,
    wanted_at_first,
    with_model,
)
from tf_cluster.exits import RefusedError

EXPORT = Export(3, 10 * MEBIBYTE, "2.21.0")
AT = Place("vision", "digits-log", "i")


def training(**place: Any) -> TrainingsPlace:
    made = {"directory": "digits", "place": AT, "run": "1", **place}
    return TrainingsPlace("digits", "tf-cluster", **made)


SHARED = Place("vision", "team", "i", "runs")
SOURCES = [
    of_training(training(), "1", "export"),
    of_training(training(place=Place("vision", "team", "i")), "2", "best"),
    of_training(training(directory="vision-digits", place=SHARED), "2", "export"),
    of_claim("models/digits", "--claim"),
]


@pytest.mark.parametrize(
    ("source", "values", "claim", "path"),
    [
        (
            SOURCES[0],
            {"run": {"release": "digits", "id": "1", "directory": "export"}},
            "digits-log",
            "digits/1/export",
        ),
        (
            SOURCES[1],
            {"run": {"release": "digits", "id": "2", "directory": "best", "claim": "team"}},
            "team",
            "digits/2/best",
        ),
        (
            SOURCES[2],
            {"claim": {"name": "team", "path": "runs/vision-digits/2/export"}},
            "team",
            "runs/vision-digits/2/export",
        ),
        (SOURCES[3], {"claim": {"name": "models", "path": "digits"}}, "models", "digits"),
    ],
)
def test_a_source_says_where_the_versions_are(
    source: Source, values: Any, claim: str, path: str
) -> None:
    assert source.values == values
    assert (source.claim, source.path) == (claim, path) == place_in_values(values)


def rendered(helm: str, values: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The server's Deployment as the real helm makes it."""
    file = folder / "values.yaml"
    file.write_text(values_text(values, ["digits"], "digits-serving"))
    words = (helm, "template", "digits-serving", str(CHART), f"--values={file}")
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    found = [one for one in yaml.safe_load_all(done.stdout) if one["kind"] == "Deployment"]
    (deployment,) = found
    return dict(deployment)


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.words)
@pytest.mark.parametrize("is_fixed", [False, True])
def test_the_chart_takes_them_and_its_server_is_read_back_as_it_was_meant(
    source: Source, is_fixed: bool, helm: str, tmp_path: Path
) -> None:
    wanted = wanted_at_first(EXPORT, is_fixed=is_fixed)
    values = server_values("digits", source, wanted, EXPORT.size, replicas=2)
    deployment = rendered(helm, values, tmp_path)
    assert deployment["spec"]["replicas"] == 2
    (server,) = servers("vision", [("deployment", deployment)])
    (model,) = server.models
    assert (model.name, model.claim, model.path) == ("digits", source.claim, source.path)
    assert (model.policy, model.labels) == (wanted.policy, wanted.labels)
    assert server.selector
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    assert container["resources"]["requests"]["memory"] == "320Mi"


def test_the_chart_takes_each_step_of_a_promotion(helm: str, tmp_path: Path) -> None:
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=True), 1)
    pods = set()

    def step(wanted: Wanted) -> Model:
        deployment = rendered(helm, with_wanted(values, "digits", wanted), tmp_path)
        pods.add(json.dumps(deployment["spec"]["template"], sort_keys=True))
        (server,) = servers("vision", [("deployment", deployment)])
        (model,) = server.models
        assert (model.policy, model.labels) == (wanted.policy, wanted.labels)
        return model

    model = step(Wanted({"specific": [3]}, {"stable": 3}))
    steps = promotion(model, 4)
    for wanted in (steps.both, steps.moved):
        model = step(wanted)
    step(rolled_back(model)[0])
    assert len(pods) == 1, "no step restarts a pod"


@pytest.mark.parametrize("seed", range(50))
def test_one_model_more_changes_no_other(seed: int) -> None:
    draw = random.Random(seed)
    there: dict[str, Any] = {"image": {"tag": "2.21.0"}, "replicas": 3, "models": {}}
    sizes = [draw.randint(1, 2**30) for _ in range(draw.randint(1, 4))]
    for number, size in enumerate(sizes):
        source = of_claim(f"models/m{number}", "--claim")
        wanted = wanted_at_first(EXPORT, is_fixed=draw.random() < 0.5)
        values = server_values(f"m{number}", source, wanted, size)
        before = json.loads(json.dumps(there))
        there = with_model(there, f"m{number}", values, "team")
        assert there["models"].pop(f"m{number}") == model_values(source, wanted)
        assert there["models"] == before["models"]
        there["models"][f"m{number}"] = model_values(source, wanted)
        assert (there["image"], there["replicas"]) == (before["image"], before["replicas"])
        assert with_model(there, f"m{number}", values, "team") == there
    asked = int(there["resources"]["requests"]["memory"].removesuffix("Mi")) * MEBIBYTE
    server = memory(0)
    assert asked == server + sum(memory(size) - server for size in sizes)
    assert asked >= server + sum(3 * size for size in sizes)


MANY = {"accessModes": ["ReadWriteMany"]}
BESIDE_A, BESIDE_B = {"besideReleases": ["a"]}, {"besideReleases": ["b"]}


@pytest.mark.parametrize(
    ("there", "new", "made"),
    [
        ({}, {}, None),
        (MANY, MANY, MANY),
        ({}, MANY, None),
        (MANY, {}, {"accessModes": ["ReadWriteOnce"]}),
        ({"accessModes": ["ReadWriteMany", "ReadOnlyMany"]}, MANY, MANY),
        (BESIDE_A, BESIDE_B, {"besideReleases": ["a", "b"]}),
        (BESIDE_A, {**BESIDE_A}, BESIDE_A),
        ({"colocate": True}, BESIDE_B, {"colocate": True, **BESIDE_B}),
    ],
)
def test_the_storage_of_a_server_is_what_all_its_claims_can_do(
    there: Any, new: Any, made: Any
) -> None:
    wanted = wanted_at_first(EXPORT, is_fixed=True)
    first = server_values("b", of_claim("one/b", "--claim"), wanted, 1, storage=there)
    more = server_values("a", of_claim("two/a", "--claim"), wanted, 1, storage=new)
    assert with_model(first, "a", more, "team").get("storage") == (made or there)

    # A model that moves to another claim, or is the first on one, brings that one's alone.
    before, moved = (
        server_values("b", of_run_on(claim), wanted, 1, storage=storage)
        for claim, storage in (("one", there), ("two", new))
    )
    packed = {"b": {**first["models"]["b"], "source": {"image": {"reference": "i:1"}}}}
    kept = {key: one for key, one in there.items() if key == "colocate"}
    for alone in (
        with_model(before, "b", moved, "team"),
        with_model({**first, "models": packed}, "a", more, "team"),
    ):
        assert alone["storage"] == {**kept, **new}

    # On a claim that is mounted already, no other pod may be asked for.
    beside = server_values("a", of_claim("one/a", "--claim"), wanted, 1, storage=new)
    assert with_model(first, "a", beside, "team").get("storage") == there
    again = server_values("b", of_claim("one/b", "--claim"), wanted, 1, storage=new)
    assert with_model(first, "b", again, "team").get("storage") == there


def of_run_on(claim: str) -> Source:
    """A training's run, wherever its claim is."""
    run = {"release": "b", "id": "1", "directory": "export", "claim": claim}
    return Source(claim, "b/1/export", {"run": run}, "run 1 of b")


@pytest.mark.parametrize("chosen", [{}, {"readinessModel": "", "startSeconds": 9}])
def test_a_new_model_restarts_no_pod_because_its_name_comes_first(
    chosen: Any, helm: str, tmp_path: Path
) -> None:
    wanted = wanted_at_first(EXPORT, is_fixed=True)
    made = [
        server_values(name, of_claim(f"models/{name}", "--claim"), wanted, 1)
        for name in ("digits", "animals")
    ]
    there = {**made[0], "server": chosen or made[0]["server"]}
    before = rendered(helm, there, tmp_path)
    after = rendered(helm, {**with_model(there, "animals", made[1], "team")}, tmp_path)
    probes = [one["spec"]["template"]["spec"]["containers"][0] for one in (before, after)]
    assert probes[0]["readinessProbe"] == probes[1]["readinessProbe"]
    assert probes[1]["readinessProbe"]["httpGet"]["path"] == "/v1/models/digits"
    kept = with_model(there, "animals", made[1], "team")["server"]
    assert kept == {**chosen, "readinessModel": "digits"}


def test_the_chart_keeps_a_server_beside_the_components_that_are_looked_for(
    helm: str, tmp_path: Path
) -> None:
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=True), 1)
    pod = rendered(helm, values, tmp_path)["spec"]["template"]["spec"]
    (rule,) = pod["affinity"]["podAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    (components,) = (
        one["values"]
        for one in rule["labelSelector"]["matchExpressions"]
        if one["key"] == "app.kubernetes.io/component"
    )
    assert sorted(components) == sorted(BESIDE)
    many = {**values, "storage": storage_values("c", ["ReadWriteMany"], (), ())}
    assert not rendered(helm, many, tmp_path)["spec"]["template"]["spec"].get("affinity")


def test_memory_that_somebody_chose_is_left() -> None:
    there = {"resources": {"requests": {"memory": "4Gi", "cpu": "2"}}, "models": {}}
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=True), 5)
    assert with_model(there, "digits", values, "r")["resources"] == there["resources"]


def test_what_somebody_chose_beside_our_keys_is_left() -> None:
    there = {
        "service": {"loadBalancerSourceRanges": ["10.0.0.0/8"], "type": "ClusterIP"},
        "resources": {"requests": {"memory": "1024Mi"}, "limits": {"memory": "16Gi"}},
        "models": {},
    }
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=True), 2**30)
    made = with_model(there, "digits", {**values, "service": {"type": "LoadBalancer"}}, "r")
    assert made["service"] == {**there["service"], "type": "LoadBalancer"}
    assert made["resources"]["limits"] == {"memory": "16Gi"}
    assert made["resources"]["requests"] != there["resources"]["requests"]


def test_a_higher_limit_that_somebody_chose_is_left_and_a_lower_one_raised() -> None:
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=True), 2**30)
    ours = values["resources"]["limits"]["memory"]
    for chosen, limit in (("65536Mi", "65536Mi"), ("1Mi", ours)):
        there = {"resources": {**values["resources"], "limits": {"memory": chosen}}}
        there["models"] = values["models"]
        for _ in range(2):
            there = with_model(there, "digits", values, "r")
            assert there["resources"]["limits"]["memory"] == limit


def test_policy_and_labels_of_what_comes_newest_are_left() -> None:
    chosen = {"policy": {"latest": 3}, "labels": {"canary": 4}}
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=False), 5)
    there = {"models": {"digits": {**values["models"]["digits"], **chosen}}}
    made = with_model(there, "digits", values, "r")
    assert made["models"] == there["models"]


def test_a_model_that_stands_twice_in_a_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("models:\n  a: {source: {}}\n  a: {source: {}}\n")
    with pytest.raises(RefusedError, match=r"more.yaml:3:3: .*keep one of them"):
        layers({}, [str(file)])
    file.write_text("monitoring: {enabled: yes}\n")
    assert len(layers({}, [str(file)])) == 2


def test_another_run_of_a_model_is_elsewhere() -> None:
    first, second = ({"models": {"digits": {"source": {"run": {"id": n}}}}} for n in "12")
    assert is_elsewhere(first, second, "digits")
    assert not is_elsewhere(first, first, "digits")
    assert not is_elsewhere({}, first, "digits")
    assert not is_elsewhere(None, first, "digits")


def test_chosen_versions_are_not_overwritten() -> None:
    wanted = Wanted({"specific": [3, 4]}, {"stable": 4, "previous": 3})
    there = {"models": {"digits": model_values(SOURCES[3], wanted)}}
    values = server_values("digits", SOURCES[3], wanted_at_first(EXPORT, is_fixed=True), 5)
    with pytest.raises(RefusedError, match="tf-cluster promote digits VERSION moves them"):
        with_model(there, "digits", values, "team")


@pytest.mark.parametrize(
    ("settings", "image"),
    [
        ((), "r/serving:2.20.0"),
        (("image.tag=2.21.0",), "r/serving:2.21.0"),
        (("replicas=2,image.tag=2.21.0,image.repository=x",), "x:2.21.0"),
        (("image.digest=sha256:a",), "r/serving@sha256:a"),
        (("image.tag=",), "r/serving:2.19.0"),
    ],
)
def test_the_image_is_what_helm_takes(
    settings: tuple[str, ...], image: str, tmp_path: Path
) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("image: {tag: 2.20.0}\n")
    values = {"image": {"repository": "r/serving", "tag": "1.0.0"}}
    assert chosen_image(layers(values, [str(file)]), settings, "2.19.0") == image


def test_batching_is_what_helm_takes(helm: str, tmp_path: Path) -> None:
    file = tmp_path / "more.yaml"
    file.write_text("batching: {maxBatchSize: 16}\nmodels: {m: {source: {claim: {name: c}}}}\n")
    settings = ("batching.enabled=true,batching.timeoutMicros=7", "batching.threads=2")
    given = layers({"batching": {"maxBatchSize": 8}}, [str(file)])
    chosen = chosen_part("batching", given, settings)
    told = [f"--set={setting}" for setting in settings]
    words = (helm, "template", "m", str(CHART), f"--values={file}", *told)
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    made = next(
        one["data"]["batching.config"]
        for one in yaml.safe_load_all(done.stdout)
        if one and one["kind"] == "ConfigMap"
    )
    assert chosen == {"maxBatchSize": 16, "enabled": True, "timeoutMicros": 7, "threads": 2}
    assert f"max_batch_size {{ value: {chosen['maxBatchSize']} }}" in made
    assert f"num_batch_threads {{ value: {chosen['threads']} }}" in made
