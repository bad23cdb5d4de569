"""serve, predict, publish, promote and rollback as they are called, in a world of documents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator
from tf_cluster.cli import main
from tf_cluster.params.schema_files import printed_schema_text

from tests.generator.cluster.serving.documents import Object, export, pod
from tests.generator.cluster.serving.world import RELEASE, World, training, world
from tests.support.waiting import HANG_SECONDS

Run = Callable[..., "Done"]
MODELS = {"claim": {"name": "models", "path": "digits"}}
NO_ADDRESS = "write CLAIM/PATH, such as models/digits, and no address"


@pytest.fixture
def there(tmp_path: Path) -> Iterator[tuple[World, dict[str, str]]]:
    with world(tmp_path) as made:
        yield made


@pytest.fixture(name="world")
def a_world(there: tuple[World, dict[str, str]]) -> World:
    one = there[0]
    one.exports = {"digits/1/export": [export(3), export(2)], "digits": [export(4), export(3)]}
    return one


@dataclass(frozen=True)
class Done:
    """What a command printed."""

    stdout: str
    stderr: str


@pytest.fixture
def run(
    there: tuple[World, dict[str, str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """The command in this process, which has to end with a code: to start it takes a second."""

    def ran(*words: str, code: int = 0) -> Done:
        ends = (signal.SIGTERM, signal.SIGHUP)
        handlers = {one: signal.getsignal(one) for one in ends}
        with monkeypatch.context() as patched:
            for name, value in there[1].items():
                patched.setenv(name, value)
            patched.chdir(tmp_path)
            patched.setattr(sys, "argv", ["tf-cluster", *words])
            for stream in ("stdout", "stderr"):
                patched.setattr(sys, stream, getattr(sys, stream))
            with pytest.raises(SystemExit) as ended:
                main()
            sys.stderr.flush()
        for one, handler in handlers.items():
            signal.signal(one, handler)
        out, err = capfd.readouterr()
        assert (ended.value.code or 0) == code, out + err
        return Done(out, err)

    return ran


def document(schema: str, text: str) -> Object:
    made = json.loads(text)
    Draft7Validator(json.loads(printed_schema_text(schema))).validate(made)
    return dict(made)


def gated(world: World, *versions: int, **labels: int) -> None:
    """A server of chosen versions."""
    model = {"source": MODELS, "policy": {"specific": [*versions]}, "labels": labels}
    world.releases[RELEASE] = {"models": {"digits": model}, "replicas": 2}


def model_of(world: World, release: str = RELEASE) -> tuple[Any, Any]:
    model = world.releases[release]["models"]["digits"]
    return model["policy"], model.get("labels")


def test_serve_writes_values_of_the_training_that_it_found(run: Run, world: World) -> None:
    done = run("serve", "digits", "--replicas", "2", "--type", "NodePort")
    assert world.asked == [["check-exports", "/log/digits/1/export", "--until-good"]]
    assert yaml.safe_load(done.stdout) == {
        "models": {
            "digits": {
                "source": {"run": {"release": "digits", "id": "1", "directory": "export"}},
                "policy": {"latest": 1},
            }
        },
        "server": {"readinessModel": "digits"},
        "resources": {"requests": {"memory": "320Mi"}, "limits": {"memory": "2048Mi"}},
        "replicas": 2,
        "service": {"type": "NodePort"},
    }
    head = [line for line in done.stdout.splitlines() if line.startswith("#")]
    assert head[0].startswith("# Values for the chart tf-serving")
    checked = "version 3, step 300, TensorFlow 2.21.0, 1.0 MiB"
    assert head[1] == f"# digits: run 1 of digits. Checked: {checked}."
    assert f"run 1 of digits: {checked}: checked" in done.stderr
    assert "memory 320Mi: two versions of 1.0 MiB while they switch" in done.stderr
    assert run("serve", "digits", "--replicas", "2", "--type", "NodePort").stdout == done.stdout
    assert world.jobs == {}
    assert world.helm_words == []


def test_serve_takes_the_best_another_run_or_one_version(run: Run, world: World) -> None:
    world.exports["digits/7/best"] = [export(9), export(8)]
    done = run("serve", "digits", "--best", "--run", "7", "--version", "8", "--model", "numbers")
    (model,) = yaml.safe_load(done.stdout)["models"].items()
    assert model == (
        "numbers",
        {
            "source": {"run": {"release": "digits", "id": "7", "directory": "best"}},
            "policy": {"specific": [8]},
            "labels": {"stable": 8},
        },
    )
    # The evaluator may remove it.
    kept = "tf-cluster publish digits --best --run 7 --version 8 --to CLAIM/PATH keeps it"
    assert kept in done.stderr
    assert "publish" not in run("serve", "digits", "--best", "--run", "7").stderr


def test_serve_says_what_the_claim_is_like(run: Run, world: World) -> None:
    def storage(*words: str) -> Any:
        return yaml.safe_load(run("serve", *words).stdout).get("storage")

    # Another training has its runs on the same claim, whose pods have a node.
    other = training("cats")
    other["spec"]["template"]["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"] = "models"
    world.trainings.append(other)
    world.exports["digits"] = [export(3)]
    assert storage("digits") is None
    assert storage("digits", "--claim", "models/digits") == {"besideReleases": ["cats"]}
    world.modes = ["ReadWriteOnce", "ReadWriteMany"]
    assert storage("digits") == {"accessModes": ["ReadWriteMany"]}
    assert storage("digits", "--claim", "models/digits") == {"accessModes": ["ReadWriteMany"]}
    assert "not found" in run("serve", "digits", "--claim", "nowhere/digits", code=2).stderr


def test_serve_writes_a_file_and_keeps_anothers(run: Run, world: World, tmp_path: Path) -> None:
    file = tmp_path / "s.values.yaml"
    file.write_text("mine: true\n")
    said = run("serve", "digits", "-o", str(file)).stderr
    assert "was not written by tf-cluster: kept as" in said
    assert "Next: helm upgrade --install digits-serving charts/tf-serving -f" in said
    again = run("serve", "digits", "-o", str(file))
    assert "wrote" not in again.stderr
    assert again.stdout == ""


@pytest.mark.parametrize(
    ("exports", "words", "complaint"),
    [
        ({}, (), "the run has no export yet"),
        ({"digits/1/export": []}, (), "run 1 of digits has no export yet"),
        (
            {"digits/1/export": [export(4, problem="it is half copied"), export(3)]},
            (),
            "version 4 in run 1 of digits can't be served: it is half copied; version 3 is good",
        ),
        (
            {"digits/1/export": [export(4, problem="it has no signature serving_default")]},
            (),
            "it has no signature serving_default",
        ),
        ({"digits/1/export": [export(3)]}, ("--version", "9"), "has no version 9: there are 3"),
        (
            {"digits/1/export": [export(3, tensorflow="99.1.0")]},
            (),
            "take --set image.tag=99.1.0",
        ),
        (
            {"digits/1/export": [export(3, warmUp=[1, 64, None])]},
            ("--install", "--set", "batching.enabled=true"),
            "with 64 rows, and one with batches of 32 does not load it: set batching.maxBatchSize",
        ),
        ({}, ("--run", "../2"), "--run ../2: no run has such an id"),
        (
            {},
            ("--set", "a=b"),
            "--values, --set, --wait, --tolerance and --chart are for --install",
        ),
        ({}, ("--claim", "models"), "--claim models: write a claim and a directory on it"),
        ({}, ("--claim", "models/../x"), "--claim models/../x: write a claim"),
        ({}, ("--claim", "s3://models/digits"), f"--claim s3://models/digits: {NO_ADDRESS}"),
        ({}, ("--claim", "models/digits", "--best"), "--run and --best are of a training"),
        ({}, ("--force",), "--force is for a file"),
        ({"digits/1/export": [export(3)]}, ("--model", "a b"), "'a b' can't be a model's name"),
    ],
)
def test_what_cant_be_served_is_refused_with_what_mends_it(
    exports: dict[str, list[Object]],
    words: tuple[str, ...],
    complaint: str,
    run: Run,
    world: World,
) -> None:
    world.exports = exports
    done = run("serve", "digits", *words, code=2)
    assert complaint in done.stderr
    assert done.stdout == ""
    assert world.jobs == {}


def test_serve_refuses_a_claim_of_one_pod(run: Run, world: World) -> None:
    world.modes = ["ReadWriteOncePod"]
    for words in ((), ("--install",), ("--claim", "models/digits")):
        said = run("serve", "digits", *words, code=2).stderr
        claim = "models" if "--claim" in words else "digits-log"
        assert f"claim {claim} is ReadWriteOncePod: while a server mounts it, the next pod" in said
        assert "tf-cluster publish --to CLAIM/PATH copies a version there" in said
    assert (world.asked, world.history) == ([], [])


def test_a_training_that_is_not_there_is_named_with_those_that_are(run: Run, world: World) -> None:
    said = run("serve", "cats", code=2).stderr
    assert "no training 'cats' in namespace vision" in said
    assert "--claim CLAIM/PATH" in said
    world.trainings = []
    said = run("serve", "digits", "--claim", "models/digits", code=2).stderr
    assert "says which image has tf-trainer: name it with --image" in said


def test_serve_installs_waits_and_prints_calls(run: Run, world: World) -> None:
    done = run("serve", "digits", "--install", "--set", "image.tag=2.22.0", "--wait", "20s")
    ((described, values),) = world.history
    assert described == "serve digits 3"
    assert values["models"]["digits"]["policy"] == {"latest": 1}
    assert "--set=image.tag=2.22.0" in world.helm_words[-1]
    ask = world.asked[-1]
    assert ask[: ask.index("--wait")] == [
        "ask-serving",
        *("--grpc", "digits-serving.vision.svc:8500"),
        *("--rest", "http://digits-serving.vision.svc:8501"),
        *("--model", "digits"),
        *("--version", "3"),
        *("--export", "/log/digits/1/export/3"),
    ]
    assert "digits 3 answers, as recorded (difference 1e-07)" in done.stderr
    assert "http://digits-serving.vision.svc:8501/v1/models/digits:predict" in done.stdout
    assert "dns:///digits-serving-pods.vision.svc:8500" in done.stdout
    assert '{"image":[[0.0,0.0,0.0,0.0]]}' in done.stdout
    assert world.lease["spec"]["holderIdentity"] == ""


def test_a_release_that_is_there_gets_one_more_model(run: Run, world: World) -> None:
    world.trainings.append(training("faces"))
    world.exports["faces/1/export"] = [export(1)]
    run("serve", "digits", "--install", "--release", "team")
    run("serve", "faces", "--install", "--release", "team")
    values = world.releases["team"]
    assert sorted(values["models"]) == ["digits", "faces"]
    assert values["resources"]["requests"] == {"memory": "384Mi"}
    again = run("serve", "faces", "--install", "--release", "team", "--run", "1")
    assert world.releases["team"] == values
    assert "faces 1 answers" in again.stderr


@pytest.mark.parametrize(
    ("chart", "source", "complaint"),
    [
        ("tf-cluster", MODELS, "release digits-serving is of chart tf-cluster"),
        ("tf-serving", MODELS, "serves a model digits already, from claim models/digits"),
    ],
)
def test_two_models_of_one_name_and_other_charts_are_refused(
    chart: str, source: Object, complaint: str, run: Run, world: World
) -> None:
    world.charts[RELEASE] = chart
    world.releases[RELEASE] = {"models": {"digits": {"source": source}}}
    assert complaint in run("serve", "digits", "--install", code=2).stderr
    assert world.history == []


@pytest.mark.parametrize("verb", ["serve", "promote", "rollback"])
def test_what_argo_cd_manages_is_changed_in_git(verb: str, run: Run, world: World) -> None:
    gated(world, 3, 4, stable=4, previous=3)
    world.notes = {"argocd.argoproj.io/tracking-id": "vision:apps/Deployment:vision/x"}
    words = {"serve": ("digits", "--install"), "promote": ("digits", "3"), "rollback": ("digits",)}
    said = run(verb, *words[verb], code=2).stderr
    assert "is managed by Argo CD, Application vision" in said
    assert world.history == []


def test_a_release_that_a_killed_helm_left_is_named(run: Run, world: World) -> None:
    gated(world, 3, stable=3)
    world.stuck = RELEASE
    said = run("promote", "digits", "4", code=2).stderr
    assert "is pending-upgrade since" in said
    assert "helm rollback digits-serving -n vision takes back" in said


def test_predict_asks_what_is_stable_and_prints_the_answer(run: Run, world: World) -> None:
    gated(world, 3, 4, stable=3, previous=4)
    done = run("predict", "digits")
    assert done.stdout == (
        "digits 3 answers, 1e-07 from what was recorded\nscores float32 [1, 2] [[0.25, 0.75]]\n"
    )
    assert [words[0] for words in world.asked] == ["ask-serving"]
    made = document("answer", run("predict", RELEASE, "--label", "previous", "-o", "json").stdout)
    assert (made["version"], made["ok"], made["release"]) == (4, True, RELEASE)
    assert made["outputs"]["scores"]["values"] == [[0.25, 0.75]]


def test_predict_of_always_the_newest_looks_which_that_is(run: Run, world: World) -> None:
    world.releases[RELEASE] = {"models": {"digits": {"source": MODELS}}}
    assert run("predict", "digits").stdout.startswith("digits 4 answers")
    assert [words[0] for words in world.asked] == ["check-exports", "ask-serving"]


def test_predict_sends_a_file_and_prints_the_servers_own_words(
    run: Run, world: World, tmp_path: Path
) -> None:
    gated(world, 4, stable=4)
    (tmp_path / "digit.json").write_text('{"inputs": {"image": [[1, 2, 3, 4]], "hat": [1]}}')
    words = 'input "hat" is not found in the signature'
    world.answers[4] = {"ok": False, "difference": None, "problem": words, "answer": None}
    seen: list[Object] = []
    world.on_ask = lambda _words: None
    original = world.post

    def post(path: str, made: Object) -> tuple[int, Any]:
        seen.append(made)
        return original(path, made)

    world.post = post  # type: ignore[method-assign]
    done = run("predict", "digits", "--input", "digit.json", code=1)
    assert done.stderr.splitlines()[-1] == f"digits 4: {words}"
    assert done.stdout == ""
    pod_of_it = next(one for one in seen if one["kind"] == "Job" and "annotations" in _pod(one))
    assert json.loads(_pod(pod_of_it)["annotations"]["tf-cluster.io/file-request.json"]) == {
        "request": {
            "inputs": {
                "image": {"dtype": "float32", "shape": [1, 4], "values": [[1, 2, 3, 4]]},
                "hat": {"dtype": "int64", "shape": [1], "values": [1]},
            }
        }
    }
    assert _pod(pod_of_it)["labels"]["tf-cluster.io/serving-client"] == RELEASE
    assert world.asked[-1][world.asked[-1].index("--request") + 1] == "/request/request.json"


def _pod(job: Object) -> Object:
    return dict(job["spec"]["template"]["metadata"])


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("--version", "9"), "version 9 of digits is not loaded: 3, 4 are"),
        (("--label", "canary"), "digits has no label 'canary': there are: previous, stable"),
        (("--label", "stable", "--version", "3"), "both say which version"),
        (("--input", "x", "--tolerance", "1"), "--tolerance is for the recorded request"),
        (("--input", "nowhere.json"), "nowhere.json: there is no such file"),
        (("--release", "other"), "no server of release 'other' here"),
    ],
)
def test_predict_refuses_what_it_cant_ask(
    words: tuple[str, ...], complaint: str, run: Run, world: World
) -> None:
    gated(world, 3, 4, stable=4, previous=3)
    assert complaint in run("predict", "digits", *words, code=2).stderr


def test_of_a_model_in_an_image_only_a_request_of_ones_own_can_be_sent(
    run: Run, world: World, tmp_path: Path
) -> None:
    source = {"image": {"reference": "r/digits:1", "path": "/model"}}
    world.releases[RELEASE] = {"models": {"digits": {"source": source}}}
    assert "give a request with --input" in run("predict", "digits", code=2).stderr
    (tmp_path / "digit.json").write_text('{"instances": [{"image": [0.5, 1.0]}]}')
    assert "say --version N" in run("predict", "digits", "--input", "digit.json", code=2).stderr
    run("predict", "digits", "--input", "digit.json", "--version", "1")
    assert "their" not in run("promote", "digits", "2", code=2).stdout


def test_publish_copies_under_the_next_number(run: Run, world: World) -> None:
    done = run("publish", "digits", "--to", "models/digits")
    assert done.stdout == "version 3 of run 1 of digits is version 5 in models/digits (5 B)\n"
    first = "next: tf-cluster serve digits --claim models/digits --release digits-stable --install"
    assert first in done.stderr
    assert world.asked[-1] == ["publish-export", "/log/digits/1/export", "/models/digits"]
    made = run("publish", "digits", "--to", "models/digits", "--version", "2", "-o", "json").stdout
    assert document("published", made)["from"] == {
        "path": "digits-log/digits/1/export",
        "version": 2,
    }
    assert "not found" in run("publish", "digits", "--to", "nowhere/digits", code=2).stderr
    said = run("publish", "digits", "--to", "s3://models/digits", code=2).stderr
    assert f"--to s3://models/digits: {NO_ADDRESS}" in said
    gated(world, 3, stable=3)
    again = run("publish", "digits", "--to", "models/digits").stderr
    assert f"next: tf-cluster promote digits 7 --release {RELEASE}" in again


def test_promote_loads_both_asks_every_pod_and_moves_the_label(run: Run, world: World) -> None:
    gated(world, 3, stable=3)
    world.pods = [
        pod("a", "10.0.0.1"),
        pod("b", "fd00::2"),
        pod("starting", "10.0.0.3", ready=False),
        pod("going", "10.0.0.4", deletionTimestamp="2026-11-01T00:00:00Z"),
    ]
    done = run("promote", "digits", "4", "--timeout", "30s")
    assert [(words, model["models"]["digits"]) for words, model in world.history] == [
        (
            "promote digits 4: both are loaded",
            {"source": MODELS, "policy": {"specific": [3, 4]}, "labels": {"stable": 3}},
        ),
        (
            "promote digits 4",
            {
                "source": MODELS,
                "policy": {"specific": [3, 4]},
                "labels": {"stable": 4, "previous": 3},
            },
        ),
    ]
    assert world.releases[RELEASE]["replicas"] == 2
    asked = [words for words in world.asked if words[0] == "ask-serving"]
    assert [words[2] for words in asked] == ["10.0.0.1:8500", "[fd00::2]:8500"] * 2
    assert ["--label" in words for words in asked] == [False, False, True, True]
    assert done.stdout == "digits: stable is 4, previous is 3; loaded: 3, 4\n"
    assert "2 pods answer, at most 1e-07 from what was recorded: stable is 4" in done.stderr
    made = document("promotion", run("promote", "digits", "4", "-o", "json").stdout)
    assert (made["stable"], made["previous"], made["ended"]) == (4, 3, True)
    assert len(world.history) == 2, "it is stable already"


def test_an_image_that_cant_look_at_labels_is_told_so(run: Run, world: World) -> None:
    gated(world, 3, stable=3)
    world.is_old = True
    done = run("promote", "digits", "4")
    assert "image trainer:1 can't look at labels: stable is 4 when the pods have" in done.stderr
    assert model_of(world)[1] == {"stable": 4, "previous": 3}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (
            {"ok": False, "difference": 0.5, "problem": "its answer differs by 0.5"},
            "digits 4 in digits-serving-1: its answer differs by 0.5; it is unloaded, and all is",
        ),
        (
            {"ok": False, "state": "LOADING", "difference": None, "problem": None},
            "digits 4 in digits-serving-1: it is LOADING; it is unloaded, and all is as it was",
        ),
    ],
)
def test_a_version_that_answers_otherwise_is_refused_and_unloaded(
    answer: Object, words: str, run: Run, world: World
) -> None:
    gated(world, 2, 3, stable=3, previous=2)
    before = json.loads(json.dumps(world.releases))
    world.answers[4] = answer
    said = run("promote", "digits", "4", code=1).stderr
    assert words in said
    assert world.releases == before
    assert [described for described, _ in world.history] == [
        "promote digits 4: both are loaded",
        "promote digits 4: refused",
    ]


def test_a_pod_that_goes_while_it_is_asked_is_not_the_versions_fault(
    run: Run, world: World
) -> None:
    gated(world, 3, stable=3)
    world.answers[4] = {"ok": False, "state": "UNKNOWN", "problem": "no connection"}

    def replaced(words: list[str]) -> None:
        if words[0] == "ask-serving" and "10.0.0.1:8500" in words:
            world.pods = [pod("another", "10.0.0.9")]
        elif words[0] == "ask-serving":
            world.answers = {}

    world.on_ask = replaced
    run("promote", "digits", "4")
    assert model_of(world)[1] == {"stable": 4, "previous": 3}


@pytest.mark.parametrize(
    ("exports", "version", "complaint"),
    [
        ([export(4), export(3)], "9", "claim models/digits has no version 9: there are 4, 3"),
        ([export(4, problem="it is half copied"), export(3)], "4", "can't be served: it is half"),
        ([export(4, tensorflow="2.40.0"), export(3)], "4", "image.tag=2.40.0"),
        ([export(4, warmUp=[17]), export(3)], "4", "batching.maxBatchSize to 17"),
    ],
)
def test_promote_changes_nothing_for_what_can_be_seen_on_the_claim(
    exports: list[Object], version: str, complaint: str, run: Run, world: World
) -> None:
    gated(world, 3, stable=3)
    world.releases[RELEASE]["batching"] = {"enabled": True, "maxBatchSize": 16}
    world.exports["digits"] = exports
    assert complaint in run("promote", "digits", version, code=2).stderr
    assert world.history == []


def test_helms_own_words_are_told_and_nothing_is_half_done(run: Run, world: World) -> None:
    gated(world, 3, stable=3)
    world.helm_fails = "quota exceeded"
    said = run("promote", "digits", "4", code=2).stderr
    assert "helm upgrade: Error: quota exceeded" in said
    assert model_of(world) == ({"specific": [3]}, {"stable": 3})
    assert "tf-tenant" not in said


def test_a_right_that_a_tenant_may_lack_comes_with_the_value_that_gives_it(
    run: Run, world: World
) -> None:
    world.helm_fails = 'User "ada" cannot get resource "poddisruptionbudgets" in API group "policy"'
    said = run("serve", "digits", "--install", code=2).stderr
    assert "in a namespace of tf-tenant rights.serving: true gives the right" in said


@pytest.mark.parametrize("answer", [{}, {"ok": False, "difference": 0.5}], ids=["good", "bad"])
def test_what_somebody_else_wrote_meanwhile_is_kept(answer: Object, run: Run, world: World) -> None:
    gated(world, 3, stable=3)
    world.answers[4] = answer

    def upgraded(words: list[str]) -> None:
        if words[0] == "ask-serving":
            world.releases["digits-serving"]["replicas"] = 7

    world.on_ask = upgraded
    said = run("promote", "digits", "4", code=2).stderr
    assert "the values of release digits-serving were changed meanwhile" in said
    assert world.releases["digits-serving"]["replicas"] == 7
    assert len(world.history) == 1
    world.on_ask = lambda _words: None
    if answer:
        assert "it may be loaded still. tf-cluster rollback digits takes it back" in said
        run("rollback", "digits")
        assert model_of(world) == ({"specific": [3]}, {"stable": 3})
    else:
        assert "helm get values digits-serving -n vision" in said
        run("promote", "digits", "4")
        assert model_of(world)[1] == {"stable": 4, "previous": 3}
    assert world.releases["digits-serving"]["replicas"] == 7


def test_how_far_an_answer_may_be_off_is_told_whoever_asks(run: Run, world: World) -> None:
    gated(world, 3, 4, stable=4, previous=3)
    run("rollback", "digits", "--tolerance", "0.25")
    claim = ("--claim", "models/digits", "--release", "another")
    run("serve", "digits", *claim, "--install", "--tolerance", "0.5")
    told = [words[words.index("--tolerance") + 1] for words in world.asked if "--label" in words]
    assert told == ["0.25"]
    assert [words for words in world.asked if "0.5" in words]
    assert "--tolerance" in run("serve", "digits", "--tolerance", "0.5", code=2).stderr


def test_what_a_helm_that_failed_has_recorded_is_taken_back(run: Run, world: World) -> None:
    gated(world, 3, stable=3)
    world.helm_fails, world.fails_late = "admission webhook denied the request", True
    said = run("promote", "digits", "4", code=2).stderr
    assert "helm upgrade: Error: admission webhook denied the request" in said
    assert "it is unloaded, and all is as it was" in said
    assert [values["models"]["digits"]["policy"] for _, values in world.history] == [
        {"specific": [3, 4]},
        {"specific": [3]},
    ]
    assert model_of(world) == ({"specific": [3]}, {"stable": 3})


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM])
def test_a_killed_promote_is_named_repeated_or_taken_back(
    end: signal.Signals, run: Run, world: World, there: tuple[World, dict[str, str]], tmp_path: Path
) -> None:
    gated(world, 3, stable=3)
    asked, go_on = threading.Event(), threading.Event()

    def hang(words: list[str]) -> None:
        if words[0] == "ask-serving":
            asked.set()
            go_on.wait(HANG_SECONDS)

    world.on_ask = hang
    process = subprocess.Popen(
        (sys.executable, "-m", "tf_cluster", "promote", "digits", "4"),
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **there[1]},
    )
    assert asked.wait(HANG_SECONDS)
    process.send_signal(end)
    world.on_ask = lambda _words: None
    go_on.set()
    _, said = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 128 + end
    assert "interrupted: a promotion of digits 4 has begun and not ended" in said
    assert model_of(world) == ({"specific": [3, 4]}, {"stable": 3})
    assert world.jobs == {}
    world.exports["digits"].insert(0, export(5))
    other = run("promote", "digits", "5", code=2).stderr
    assert "tf-cluster promote digits 4 goes on, tf-cluster rollback digits takes it back" in other
    if end == signal.SIGINT:
        run("promote", "digits", "4")
        assert model_of(world)[1] == {"stable": 4, "previous": 3}
    else:
        assert "digits 4: unloaded" in run("rollback", "digits").stderr
        assert model_of(world) == ({"specific": [3]}, {"stable": 3})


def test_rollback_makes_the_version_before_stable_and_unloads_the_other(
    run: Run, world: World
) -> None:
    gated(world, 3, 4, stable=4, previous=3)
    done = run("rollback", "digits", "-o", "json")
    made = document("promotion", done.stdout)
    assert (made["stable"], made["previous"], made["loaded"]) == (3, None, [3])
    assert model_of(world) == ({"specific": [3]}, {"stable": 3})
    assert [described for described, _ in world.history] == ["rollback digits to 3"]
    assert "has no version to go back to" in run("rollback", "digits", code=2).stderr


VALUES = """\
models:
  digits:
    source: {claim: {name: models, path: digits}}
    policy: {specific: [3]}  # by promote
    labels: {stable: 3}
"""


def test_with_gitops_a_file_is_edited_in_two_steps(run: Run, world: World, tmp_path: Path) -> None:
    file = tmp_path / "serving.values.yaml"
    file.write_text(VALUES)
    words = ("promote", "digits", "4", "--values", str(file))
    done = run(*words)
    assert file.read_text() == VALUES.replace("[3]", "[3, 4]")
    assert "the same command moves the label" in done.stderr
    made = document("promotion", run(*words, "-o", "json").stdout)
    assert (made["stable"], made["ended"], made["release"]) == (4, True, None)
    last = VALUES.replace("[3]", "[3, 4]").replace("stable: 3", "stable: 4, previous: 3")
    assert file.read_text() == last
    run(*words)
    assert file.read_text() == last
    run("rollback", "digits", "--values", str(file))
    assert yaml.safe_load(file.read_text()) == yaml.safe_load(VALUES)
    assert "# by promote" in file.read_text()
    assert world.helm_words == world.asked == []
    wrong = run(*words, "--release", "x", code=2).stderr
    assert "--values edits a file and asks no cluster: leave out --release" in wrong
