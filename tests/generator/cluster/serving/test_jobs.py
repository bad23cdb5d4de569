"""The Jobs of the verbs: what they mount, who they are to network policies, what they ask."""

from __future__ import annotations

import time

import pytest
from lightkube.resources.batch_v1 import Job
from tf_cluster.cluster.claim_job import (
    Errand,
    Mount,
    NeedlessError,
    Place,
    TrainingsPlace,
    job,
)
from tf_cluster.cluster.serving.asking import (
    Answer,
    Host,
    Namespace,
    Question,
    ServerPod,
    answer_of,
    ask_words,
    job_place,
)
from tf_cluster.cluster.serving.promoting import WorseError, answer_words, ask_all
from tf_cluster.cluster.serving.servers import servers
from tf_cluster.exits import RefusedError

from tests.generator.cluster.serving.documents import deployment

PLACE = Place("vision", "digits-log", "trainer:1")
GOOD = Answer("AVAILABLE", ok=True, difference=0.0)
BAD = Answer("AVAILABLE", ok=False, difference=0.5)


def test_commands_follow_each_other_with_the_last_as_the_pods_own() -> None:
    errand = Errand(
        component="serving-client",
        what="ask servers",
        commands=(("ask", "a"), ("ask", "b"), ("ask", "c")),
        mounts=(Mount("digits-log"), Mount("models", "/models", may_write=True)),
        marks={"tf-cluster.io/serving-client": "digits-serving"},
        files={"request.json": "{}"},
    )
    made = job(PLACE, "x", errand, 60)
    assert Job.from_dict(dict(made)).spec is not None
    template = made["spec"]["template"]
    spec = template["spec"]
    first, last = spec["initContainers"], spec["containers"]
    assert [one["args"] for one in (*first, *last)] == [["ask", "a"], ["ask", "b"], ["ask", "c"]]
    assert [one["name"] for one in (*first, *last)] == [
        "serving-client-1",
        "serving-client-2",
        "serving-client",
    ]
    mounts = {one["mountPath"]: one for one in last[0]["volumeMounts"]}
    assert mounts["/log"]["readOnly"]
    assert "readOnly" not in mounts["/models"]
    (item,) = next(one for one in spec["volumes"] if "downwardAPI" in one)["downwardAPI"]["items"]
    assert (
        item["fieldRef"]["fieldPath"] == "metadata.annotations['tf-cluster.io/file-request.json']"
    )
    assert template["metadata"]["annotations"] == {"tf-cluster.io/file-request.json": "{}"}
    assert template["metadata"]["labels"]["tf-cluster.io/serving-client"] == "digits-serving"


def test_a_job_is_a_pod_like_the_trainings_of_its_claim_or_like_the_servers() -> None:
    (server,) = servers("vision", [("deployment", deployment())])
    secrets = {"imagePullSecrets": [{"name": "s"}]}
    own = Place("vision", "digits-log", "trainer:1", pod=secrets, pod_security={"runAsUser": 5})
    trained = TrainingsPlace("digits", "tf-cluster", "digits", own, "1")
    there = Namespace("vision", (trained,), (server,))
    assert job_place(there, "digits-log", None, server) == own
    beside = job_place(there, "models", None, server)
    assert (beside.claim, beside.image) == ("models", "trainer:1")
    assert beside.pod == {"nodeSelector": {"pool": "models"}, **secrets}
    assert (beside.pod_security, beside.security) == (
        {"runAsUser": 7},
        {"readOnlyRootFilesystem": True},
    )
    assert job_place(there, "models", "other:2").image == "other:2"
    with pytest.raises(RefusedError, match="name it with --image"):
        job_place(Namespace("vision", (), (server,)), "models", None, server)


def test_one_claim_is_one_volume_however_often_it_is_mounted() -> None:
    """Two volumes of one claim keep a pod from starting under some kubelets."""
    mounts = (Mount("team", sub_path="runs"), Mount("team", "/models", may_write=True))
    made = job(PLACE, "x", Errand("c", "w", (("a",),), mounts), 60)
    spec = made["spec"]["template"]["spec"]
    assert [one["name"] for one in spec["volumes"]] == ["log", "tmp"]
    assert spec["containers"][0]["volumeMounts"][:2] == [
        {"name": "log", "mountPath": "/log", "readOnly": True, "subPath": "runs"},
        {"name": "log", "mountPath": "/models"},
    ]


def test_what_the_trainer_is_asked() -> None:
    recorded = Question("digits", 4, "models", "team/digits", tolerance=1e-4)
    assert ask_words(recorded, Host("fd00::1"), 30) == (
        "ask-serving",
        *("--grpc", "[fd00::1]:8500", "--rest", "http://[fd00::1]:8501"),
        *("--model", "digits", "--version", "4", "--export", "/log/team/digits/4"),
        *("--wait", "30", "--tolerance", "0.0001"),
    )
    own = Question("digits", 4, request="{}")
    words = ask_words(own, Host("s.vision.svc", 80, 81), 5)
    assert words[-4:] == ("--request", "/request/request.json", "--wait", "5")
    assert words[2] == "s.vision.svc:80"


def test_an_answer_is_read_with_what_older_ones_lack() -> None:
    bare = answer_of({"version": 1, "state": "AVAILABLE", "ok": True})
    assert (bare.ok, bare.difference, bare.problem, bare.outputs) == (True, None, "", {})
    with pytest.raises(RefusedError, match="can't read"):
        answer_of({"version": 1})


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (BAD, "its answer differs by 0.5 from the recorded one"),
        (Answer("LOADING", ok=False), "it is LOADING"),
        (Answer("END", ok=False, problem="Out of memory."), "Out of memory"),
    ],
)
def test_what_is_wrong_with_an_answer(answer: Answer, words: str) -> None:
    assert answer_words(answer) == words


def ready(*names: str) -> list[ServerPod]:
    return [ServerPod(name, f"address of {name}", True, False) for name in names]


def test_pods_that_come_meanwhile_are_asked_too_and_none_twice() -> None:
    looks = [ready("a", "b"), ready("b", "c"), ready("b", "c")]
    asked: list[str] = []

    def ask(pods: list[ServerPod]) -> list[Answer]:
        asked.extend(pod.name for pod in pods)
        return [GOOD for _ in pods]

    found = ask_all(lambda: looks.pop(0), ask, until=time.monotonic() + 60, words="digits 4")
    assert asked == ["a", "b", "c"], "one alone first"
    assert found == [GOOD] * 3


def test_a_bad_answer_counts_where_its_pod_is_still_there() -> None:
    answers = {"a": BAD, "b": GOOD}

    def ask(pods: list[ServerPod]) -> list[Answer]:
        return [answers[pod.name] for pod in pods]

    looks = [ready("a"), ready("b"), ready("b"), ready("b")]
    assert ask_all(lambda: looks.pop(0), ask, until=time.monotonic() + 60, words="w") == [GOOD]
    with pytest.raises(WorseError, match="digits 4 in a: its answer differs by"):
        ask_all(lambda: ready("a"), ask, until=time.monotonic() + 60, words="digits 4")


def test_where_a_pod_goes_while_it_is_asked_those_that_are_there_are_asked() -> None:
    looks = [ready("a", "b"), ready("b", "c"), ready("b", "c"), ready("b", "c")]
    asked: list[list[str]] = []

    def ask(pods: list[ServerPod]) -> list[Answer]:
        asked.append([pod.name for pod in pods])
        if asked == [["a"]]:
            raise NeedlessError
        return [GOOD for _ in pods]

    found = ask_all(lambda: looks.pop(0), ask, until=time.monotonic() + 60, words="digits 4")
    assert asked == [["a"], ["b"], ["c"]]
    assert found == [GOOD] * 2


def test_without_a_pod_that_is_ready_it_ends_in_time() -> None:
    starting = ServerPod("a", "10.0.0.1", False, False)
    with pytest.raises(RefusedError, match="digits 4: no pod of the server is ready"):
        ask_all(lambda: [starting], lambda _: [], until=time.monotonic() - 1, words="digits 4")
