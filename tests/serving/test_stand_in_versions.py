"""Which versions a server loads, in which order, and what becomes of those that can't be loaded."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from tests.serving import saved_models
from tests.serving.server import Server, config_of, of, request, serving
from tests.support.waiting import eventually

QUICK = ("--max_num_load_retries=2", "--load_retry_interval_micros=1000000")


def warmup(**more: Any) -> PredictionLog:
    made = PredictionLog()
    made.predict_log.request.CopyFrom(request(**more))
    return made


def test_policies_choose_versions_by_their_numbers(tmp_path: Path) -> None:
    paths = {name: tmp_path / name for name in ("latest", "two", "some", "all")}
    for path in paths.values():
        for version in (2, 9, 10):
            saved_models.put(path, version, float(version))
        for name in ("100.tmp", "best", ".tmp-11"):
            (path / name).mkdir()
    policies = {
        "two": "latest { num_versions: 2 }",
        "some": "specific { versions: 2 versions: 10 versions: 77 }",
        "all": "all {}",
    }
    models = [
        {"name": name, "path": path, "policy": policies.get(name)} for name, path in paths.items()
    ]
    config = tmp_path / "models.config"
    config.write_text(config_of(*models))
    with serving(tmp_path, f"--model_config_file={config}") as server:
        server.await_states({10: "AVAILABLE"}, "latest")
        server.await_states({9: "AVAILABLE", 10: "AVAILABLE"}, "two")
        server.await_states({2: "AVAILABLE", 10: "AVAILABLE"}, "some")
        server.await_states({2: "AVAILABLE", 9: "AVAILABLE", 10: "AVAILABLE"}, "all")
        assert server.scale("all") == 10
        assert server.scale("all", version=9) == 9
        assert "Version 77 of servable some, which was requested to be served" in server.words


class Asking:
    """A client that asks all the time; what it was told."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.told: list[float] = []
        self.failed: list[str] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        while not self._over.is_set():
            try:
                self.told.append(self._server.scale())
            except grpc.RpcError as error:
                self.failed.append(str(error))
            time.sleep(0.01)

    def __enter__(self) -> Asking:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()


@pytest.fixture
def server(tmp_path: Path, base: Path) -> Iterator[Server]:
    saved_models.put(base, 1, 2.0)
    with serving(tmp_path, *of(base, *QUICK)) as server:
        yield server


def test_a_new_version_serves_before_the_old_one_goes(server: Server, base: Path) -> None:
    with Asking(server) as asking:
        eventually("an answer", lambda: asking.told)
        saved_models.put(base, 2, 3.0, [warmup(), warmup(values=np.ones((9, 3), np.float32))])
        server.await_states({1: "END", 2: "AVAILABLE"})
        eventually("the new answer", lambda: asking.told[-1] == 3)
    assert not asking.failed
    assert asking.told == sorted(asking.told)
    assert set(asking.told) == {2, 3}
    assert server.rest("/v1/models/m/versions/1").status == 200
    assert server.rest("/v1/models/m/versions/1:predict", {"instances": [[1, 1, 1]]}).status == 404


def test_a_broken_version_is_loading_until_its_retries_are_over(server: Server, base: Path) -> None:
    saved_models.put_broken(base, 2)
    server.await_states({1: "AVAILABLE", 2: "LOADING"})
    first = server.rest("/v1/models/m/versions/2").document["model_version_status"][0]
    assert first["status"] == {"error_code": "OK", "error_message": ""}
    server.await_states({1: "AVAILABLE", 2: "END"})
    (last,) = server.rest("/v1/models/m/versions/2").document["model_version_status"]
    assert last["status"]["error_code"] != "OK"
    assert last["status"]["error_message"]
    assert server.scale() == 2
    assert server.words.count("Loading servable: {name: m version: 2} failed: ") == 3
    # What ended is not tried again; what comes after it is.
    saved_models.put(base, 3, 4.0)
    server.await_states({1: "END", 2: "END", 3: "AVAILABLE"})
    assert server.scale() == 4


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("a wrong type", "Expects arg[0] to be float but double is provided"),
        ("another signature", 'Serving signature key "other" not found.'),
        ("no TFRecord", "Please verify your warmup data is in TFRecord format."),
    ],
)
def test_a_version_whose_warm_up_fails_is_not_served(
    tmp_path: Path, base: Path, kind: str, words: str
) -> None:
    saved_models.put(base, 1, 2.0)
    flags = ("--max_num_load_retries=0", "--model_name=m", f"--model_base_path={base}")
    with serving(tmp_path, *flags) as server:
        logs = {
            "a wrong type": [warmup(values=np.ones((1, 3), np.float64))],
            "another signature": [warmup(signature="other")],
            "no TFRecord": [],
        }
        new = saved_models.put(base, "2.part", 3.0, logs[kind])
        if not logs[kind]:
            (new / saved_models.WARMUP.parent).mkdir()
            (new / saved_models.WARMUP).write_bytes(b"no records at all")
        new.rename(base / "2")
        server.await_states({1: "AVAILABLE", 2: "END"})
        (seen,) = server.rest("/v1/models/m/versions/2").document["model_version_status"]
        assert words in seen["status"]["error_message"]
        assert server.scale() == 2


def test_without_warm_up_a_bad_warm_up_file_does_not_matter(tmp_path: Path, base: Path) -> None:
    saved_models.put(base, 1, 2.0, [warmup(signature="other")])
    with serving(tmp_path, *of(base, "--enable_model_warmup=false")) as server:
        assert server.scale() == 2


@pytest.mark.parametrize("threads", [0, 2])
def test_one_broken_version_holds_up_the_other_models_unless_there_are_threads(
    tmp_path: Path, threads: int
) -> None:
    """The default is --num_load_threads=0: the thread that decides is the one that loads."""
    bases = [tmp_path / name for name in ("a", "b")]
    for base in bases:
        saved_models.put(base, 1, 2.0)
    config = tmp_path / "models.config"
    config.write_text(config_of(*({"name": base.name, "path": base} for base in bases)))
    flags = (
        f"--model_config_file={config}",
        f"--num_load_threads={threads}",
        "--max_num_load_retries=1",
        f"--load_retry_interval_micros={3_000_000 if threads == 0 else 600_000_000}",
    )
    with serving(tmp_path, *flags) as server:
        saved_models.put_broken(bases[0], 2)
        eventually("the retries", lambda: server.states("a").get(2) == "LOADING", 60)
        saved_models.put(bases[1], 2, 3.0)
        eventually("the other model", lambda: server.states("b").get(2) == "AVAILABLE", 60)
        assert server.states("a")[2] == ("LOADING" if threads else "END")
        assert server.scale("a") == 2


def test_batches_are_formed_of_several_requests(tmp_path: Path, base: Path) -> None:
    saved_models.put(base, 1, 2.0)
    config = tmp_path / "batching.config"
    config.write_text(
        "max_batch_size { value: 4 } batch_timeout_micros { value: 500000 }\n"
        "num_batch_threads { value: 1 } max_enqueued_batches { value: 1 }\n"
        "allowed_batch_sizes: 2 allowed_batch_sizes: 4\n"
    )
    flags = ("--enable_batching", f"--batching_parameters_file={config}")
    with serving(tmp_path, *of(base, *flags)) as server:
        with ThreadPoolExecutor(4) as pool:
            rows = [np.full((1, 3), number, np.float32) for number in range(4)]
            answers = list(pool.map(lambda row: server.scale(values=row), rows))
        assert answers == [0, 2, 4, 6]
        with pytest.raises(grpc.RpcError) as caught:
            server.scale(values=np.ones((5, 3), np.float32))
        assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert "5 is larger than maximum input batch size 4" in str(caught.value.details())
        told = []
        with ThreadPoolExecutor(12) as pool:
            for asked in [pool.submit(server.scale) for _ in range(12)]:
                error = asked.exception()
                told.append(error.code() if isinstance(error, grpc.RpcError) else asked.result())
        assert 2.0 in told
        assert set(told) <= {2.0, grpc.StatusCode.UNAVAILABLE}
