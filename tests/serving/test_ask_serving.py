"""`tf-trainer ask-serving`: what it says of a server, as a process that asks a real one."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import tensor_pb2, tensor_shape_pb2
from tensorflow_serving.apis import model_pb2, predict_pb2
from tf_cluster_trainer.run_directory import tensors
from tf_cluster_trainer.serving import ask_compare, ask_messages, ask_recorded, ask_state
from tf_cluster_trainer.serving.ask_state import Place, Seen

from tests.ports import free_port
from tests.serving import saved_models
from tests.serving.server import Server, config_of, of, serving
from tests.support.waiting import HANG_SECONDS, eventually
from tests.tied import tied_to_us

TRAINER = "from tf_cluster_trainer.supervisor.main import main; main()"
ROW = [[1.0, 2.0, 3.0]]


def tensor(values: Any, dtype: str = "float32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": list(np.shape(values)), "values": values}


def recorded(inputs: Any, outputs: Any, signature: str = "serving_default") -> dict[str, Any]:
    return {
        "version": 1,
        "run": {"name": "digits", "id": "1"},
        "signature": signature,
        "request": {"inputs": inputs},
        "answer": {"outputs": outputs} if outputs is not None else None,
    }


def by(scale: float) -> dict[str, Any]:
    """What a version that multiplies by `scale` was recorded to answer."""
    return recorded({"x": tensor(ROW)}, {"y": tensor((np.array(ROW) * scale).tolist())})


def written(folder: Path, document: Any) -> Path:
    """A version's directory with this record."""
    file = folder / "version" / "assets.extra" / "tf-cluster.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document))
    return folder / "version"


def words_of(server: Server, version: int, *more: str, model: str = "m") -> tuple[str, ...]:
    place = (f"--grpc={server.grpc_address}", f"--rest={server.rest_address}")
    named = (f"--model={model}", f"--version={version}")
    return (sys.executable, "-c", TRAINER, "ask-serving", *place, *named, *more)


def ran(words: tuple[str, ...], code: int = 0, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        words,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == code, done.stdout + done.stderr
    *_, last = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(last)
    return found


def asked(server: Server, folder: Path, version: int, document: Any, *more: str) -> dict[str, Any]:
    return ran(words_of(server, version, f"--export={written(folder, document)}", *more))


def test_the_recorded_answer_is_the_answer(two_versions: Server, tmp_path: Path) -> None:
    log = tmp_path / "termination-log"
    log.touch()
    words = words_of(two_versions, 2, f"--export={written(tmp_path, by(3.0))}")
    found = ran(words, TF_CLUSTER_TERMINATION_LOG=str(log))
    assert json.loads(log.read_text()) == found
    assert found.pop("seconds") >= 0
    assert found == {
        "version": 1,
        "state": "AVAILABLE",
        "difference": 0.0,
        "ok": True,
        "problem": None,
        "answer": {"outputs": {"y": {"dtype": "float32", "shape": [1, 3], "values": [[3, 6, 9]]}}},
    }


def test_a_label_is_waited_for_until_it_names_the_version(
    two_versions: Server, tmp_path: Path
) -> None:
    assert asked(two_versions, tmp_path, 1, by(2.0), "--label=stable")["ok"]
    other = asked(two_versions, tmp_path, 2, by(3.0), "--label=stable", "--wait=0")
    assert (other["ok"], other["problem"]) == (False, "stable is 1")
    none = asked(two_versions, tmp_path, 2, by(3.0), "--label=nothing", "--wait=0")
    assert not none["ok"]
    assert "nothing" in none["problem"]


def test_another_answer_is_refused_with_the_place_that_differs_most(
    two_versions: Server, tmp_path: Path
) -> None:
    found = asked(two_versions, tmp_path, 1, by(2.1))
    assert not found["ok"]
    assert found["difference"] == pytest.approx(0.3 / 6.3)
    assert found["problem"] == (
        "output 'y' differs most at [0, 2]: served 6.0, recorded 6.3 "
        "(difference 0.0476, tolerance 0.0001)"
    )
    assert asked(two_versions, tmp_path, 1, by(2.1), "--tolerance=0.1")["ok"]


def test_strings_and_integers_are_compared_too(two_versions: Server, tmp_path: Path) -> None:
    words = [{"b64": base64.b64encode(b"\xff\x00").decode()}, "ab"]
    text = tensor(words, "string") | {"shape": [2]}
    same = recorded({"text": text}, {"text": text, "raw_bytes": text}, "words")
    assert asked(two_versions, tmp_path, 1, same)["ok"]
    named = {"a": tensor([1.5]), "b": tensor([2], "int64")}
    good = {"sum": tensor([3.5]), "b": tensor([2], "int64")}
    assert asked(two_versions, tmp_path, 1, recorded(named, good, "named"))["ok"]
    bad = {**good, "b": tensor([3], "int64")}
    found = asked(two_versions, tmp_path, 1, recorded(named, bad, "named"))
    assert found["problem"].startswith("output 'b' differs most at [0]: served 2, recorded 3")
    wrong = {"sum": tensor([3.5]), "c": tensor([3], "int64")}
    found = asked(two_versions, tmp_path, 1, recorded(named, wrong, "named"))
    assert found["problem"] == "it gives no output 'c', which was recorded"


def test_the_servers_own_words_tell_of_a_wrong_input(two_versions: Server, tmp_path: Path) -> None:
    found = asked(two_versions, tmp_path, 1, recorded({"z": tensor(ROW)}, None))
    assert (found["state"], found["ok"], found["difference"]) == ("AVAILABLE", False, None)
    assert found["problem"].startswith("Signature input alias: x(feed name: serving_default_x:0)")
    doubles = recorded({"x": tensor(ROW, "float64")}, None)
    found = asked(two_versions, tmp_path, 1, doubles)
    assert found["problem"] == "Expects arg[0] to be float but double is provided"


def test_where_nothing_is_recorded_only_the_state_is_asked(
    two_versions: Server, tmp_path: Path
) -> None:
    nothing = {**by(1.0), "request": None, "answer": None}
    found = asked(two_versions, tmp_path, 1, nothing)
    assert (found["state"], found["ok"], found["difference"]) == ("AVAILABLE", True, None)


def test_a_version_that_never_comes(two_versions: Server, tmp_path: Path) -> None:
    found = asked(two_versions, tmp_path, 9, by(1.0), "--wait=1")
    assert (found["state"], found["ok"]) == (None, False)
    assert found["problem"] == "Could not find version 9 of model m"
    assert found["seconds"] >= 1


def test_a_server_that_is_not_there(tmp_path: Path, two_versions: Server) -> None:
    nobody = Server(two_versions.process, two_versions.log, free_port(), free_port())
    found = asked(nobody, tmp_path, 1, by(1.0), "--wait=0")
    assert (found["state"], found["ok"]) == (None, False)
    assert f"{nobody.rest_address} does not answer: " in found["problem"]


def test_it_waits_for_a_version_that_is_loaded_later(tmp_path: Path, base: Path) -> None:
    saved_models.put(base, 1, 2.0)
    with serving(tmp_path, *of(base)) as server:
        words = words_of(server, 2, f"--export={written(tmp_path, by(3.0))}", "--wait=200")
        with subprocess.Popen(tied_to_us(*words), stdout=subprocess.PIPE, text=True) as asking:
            assert asking.stdout
            first = json.loads(asking.stdout.readline())
            assert first == {"said": "no state: Could not find version 2 of model m"}
            saved_models.put(base, 2, 3.0)
            *_, last = asking.stdout.read().splitlines()
        assert json.loads(last)["ok"]


@pytest.mark.parametrize("directory", ["m", "runs/digits/1/export"])
def test_a_broken_version_is_told_as_what_it_is(tmp_path: Path, directory: str) -> None:
    base = tmp_path / directory
    base.mkdir(parents=True, exist_ok=True)
    saved_models.put(base, 1, 2.0)
    (tmp_path / "monitoring.config").write_text("prometheus_config { enable: true }")
    (tmp_path / "models.config").write_text(
        config_of({"name": "m", "path": base, "policy": "all {}"})
    )
    flags = (
        f"--model_config_file={tmp_path}/models.config",
        f"--monitoring_config_file={tmp_path}/monitoring.config",
        "--num_load_threads=2",
        "--max_num_load_retries=2",
        "--load_retry_interval_micros=7000000",
    )
    with serving(tmp_path, *flags) as server:
        saved_models.put_broken(base, 2)
        place = Place(server.rest_address, "m", 2)
        eventually("a second try", lambda: place.attempts()[1] > 1, 60)
        found = asked(server, tmp_path, 2, by(3.0), "--wait=0.1")
        assert (found["state"], found["ok"]) == ("LOADING", False)
        assert found["problem"].startswith("retries loading: 2 of 2 attempts failed")
        found = asked(server, tmp_path, 2, by(3.0), "--wait=200")
        assert (found["state"], found["ok"]) == ("END", False)
        (seen,) = server.rest("/v1/models/m/versions/2").document["model_version_status"]
        assert found["problem"] == seen["status"]["error_message"]


def test_a_failure_from_before_counts_when_time_has_passed() -> None:
    """It may be asked for anew: a changed ConfigMap needs a while to reach the server."""
    old = Seen("END", "it was broken")

    class Looks:
        def __init__(self, *seen: Seen) -> None:
            self._seen = list(seen)
            self.now = 0.0

        def look(self) -> Seen:
            return self._seen.pop(0) if len(self._seen) > 1 else self._seen[0]

        def attempts(self) -> tuple[int, int]:
            return 0, 0

        def wait(self, seconds: float) -> Seen:
            def sleep(seconds: float) -> None:
                self.now += seconds

            place: Any = self
            return ask_state.wait(place, seconds, lambda _: None, lambda: self.now, sleep)

    looks = Looks(old, old, Seen("START"), Seen("LOADING"), Seen("AVAILABLE"))
    assert looks.wait(300) == Seen("AVAILABLE")
    assert looks.now < 5
    looks = Looks(old)
    assert looks.wait(300) == old
    assert looks.now == pytest.approx(ask_state.SETTLED_SECONDS, abs=1)
    looks = Looks(Seen("LOADING"), old)
    assert looks.wait(300) == old
    assert looks.now < 5
    assert Looks(Seen("END")).wait(3) == Seen(
        "END", "it was unloaded, and not loaded again within 3 s"
    )
    assert Looks(Seen("LOADING")).wait(3) == Seen("LOADING", "it is still LOADING after 3 s")


def test_a_version_without_a_record_has_none(tmp_path: Path) -> None:
    """Older trainers wrote none, nor do other programs."""
    assert ask_recorded.of_export(tmp_path).inputs is None


def test_what_is_no_number_is_read_as_the_trainer_wrote_it(tmp_path: Path) -> None:
    told = np.array([[np.nan, np.inf, -np.inf, 1.5]], np.float32)
    file = tmp_path / "request.json"
    file.write_text(json.dumps({"request": {"inputs": {"x": tensors.as_json(told)}}}))
    (read,) = (ask_recorded.of_file(file).inputs or {}).values()
    np.testing.assert_array_equal(read[1], told)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{", "it is no JSON"),
        ({}, "it has no `request`"),
        ({"request": {}}, "/request: it has no `inputs` by name"),
        ({"request": {"inputs": {"x": 1}}}, "/request/inputs/x: it has to have `dtype`"),
        (recorded({"x": tensor(ROW, "float")}, None), "/inputs/x/dtype: 'float' is none of"),
        (
            recorded({"x": {**tensor(ROW), "shape": [1, 2]}}, None),
            "/request/inputs/x/values: 3 values for the shape [1, 2]",
        ),
        (recorded({"x": tensor(["a"])}, None), "/request/inputs/x/values: 'a' is no float32"),
        (recorded({}, {"y": tensor([0.5], "int64")}), "/answer/outputs/y/values: 0.5 is no int64"),
    ],
)
def test_a_record_that_is_wrong_is_told_with_its_place(
    tmp_path: Path, document: Any, words: str
) -> None:
    file = tmp_path / "request.json"
    file.write_text(document if isinstance(document, str) else json.dumps(document))
    with pytest.raises(ask_recorded.RecordError) as caught:
        ask_recorded.of_file(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert words in str(caught.value)


def test_a_record_that_is_not_there_is_exit_code_2(two_versions: Server, tmp_path: Path) -> None:
    found = ran(words_of(two_versions, 1, f"--export={tmp_path}/7"), code=2)
    assert found["error"] == f"{tmp_path}/7: there is no such directory; name that of one version"
    found = ran(words_of(two_versions, 1, f"--request={tmp_path}/7.json"), code=2)
    assert found["error"] == f"{tmp_path}/7.json: No such file or directory"


def test_arguments_that_are_wrong_are_refused(two_versions: Server, tmp_path: Path) -> None:
    words = words_of(two_versions, 1, f"--request={tmp_path}/a")
    for wrong in ("--grpc=localhost", "--rest=localhost:8501", "--version=-1", "--wait=soon"):
        done = subprocess.run((*words, wrong), capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert f"argument {wrong.partition('=')[0]}: " in done.stderr


def test_a_sigterm_ends_it_while_it_waits(two_versions: Server, tmp_path: Path) -> None:
    words = words_of(two_versions, 9, f"--export={written(tmp_path, by(1.0))}", "--wait=600")
    with subprocess.Popen(tied_to_us(*words), stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout
        assert "Could not find version 9" in asking.stdout.readline()
        asking.send_signal(signal.SIGTERM)
        assert asking.wait(HANG_SECONDS) == 42


OFFICIAL = {
    "tensorflow.TensorShapeProto": tensor_shape_pb2.TensorShapeProto,
    "tensorflow.TensorShapeProto.Dim": tensor_shape_pb2.TensorShapeProto.Dim,
    "tensorflow.TensorProto": tensor_pb2.TensorProto,
    "tensorflow.serving.ModelSpec": model_pb2.ModelSpec,
    "tensorflow.serving.PredictRequest": predict_pb2.PredictRequest,
    "tensorflow.serving.PredictResponse": predict_pb2.PredictResponse,
}


@pytest.mark.parametrize("name", OFFICIAL)
def test_our_messages_have_the_fields_of_the_official_ones(name: str) -> None:
    theirs = OFFICIAL[name].DESCRIPTOR
    ours = ask_messages.classes()[name].DESCRIPTOR
    assert ours.full_name == theirs.full_name
    assert len(ours.fields) >= 2
    for field in ours.fields:
        other = theirs.fields_by_name[field.name]
        kind = field.TYPE_INT32 if other.type == other.TYPE_ENUM else other.type
        assert (field.number, field.type) == (other.number, kind), field.name
        assert field.is_repeated == other.is_repeated, field.name
        if field.message_type and not field.message_type.GetOptions().map_entry:
            assert field.message_type.full_name == other.message_type.full_name


@pytest.mark.parametrize("kind", ask_messages.KINDS)
def test_every_type_is_sent_and_read_as_tensorflow_does(kind: str) -> None:
    dtype = tf.as_dtype(kind)
    assert ask_messages.KINDS[kind] == dtype.as_datatype_enum
    values = np.array([[b"a", b"\xff"]], object) if kind == "string" else np.array([[1, 0]])
    array = values if kind == "string" else values.astype(ask_messages.dtype_of(kind))
    sent = ask_messages.request_of("m", 7, "s", {"x": (kind, array)})
    request = predict_pb2.PredictRequest.FromString(sent)
    assert request.model_spec.version.value == 7
    assert (request.model_spec.name, request.model_spec.signature_name) == ("m", "s")
    read = tf.make_ndarray(request.inputs["x"])
    assert read.dtype == array.dtype
    assert (read == array).all()
    answer = predict_pb2.PredictResponse()
    answer.model_spec.version.value = 7
    for name, given in (("content", array), ("one", array[:, :1])):
        answer.outputs[name].CopyFrom(tf.make_tensor_proto(given, dtype))
    version, outputs = ask_messages.answer_of(answer.SerializeToString())
    assert version == 7
    for name, given in (("content", array), ("one", array[:, :1])):
        assert outputs[name][0] == kind
        assert (outputs[name][1] == given).all()


def test_a_value_that_is_no_number_differs_from_one_that_is() -> None:
    def of_floats(*values: float) -> dict[str, tuple[str, Any]]:
        return {"y": ("float32", np.array(values, np.float32))}

    nan, inf = float("nan"), float("inf")
    assert ask_compare.compared(of_floats(nan, inf), of_floats(nan, inf), 0.0).problem is None
    for served, wanted in ((nan, 1.0), (1.0, nan), (inf, 1.0), (1.0, inf), (inf, -inf)):
        found = ask_compare.compared(of_floats(served), of_floats(wanted), 1e9)
        assert found.difference is None
        assert found.problem and "(difference not a number, tolerance 1e+09)" in found.problem
    big, bigger = (("y", ("int64", np.array([2**62 + n], np.int64))) for n in (0, 1))
    assert ask_compare.compared(dict([big]), dict([bigger]), 0.5).problem
