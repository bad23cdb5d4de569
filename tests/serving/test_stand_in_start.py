"""When a server's ports open, and when it does not start at all."""

from __future__ import annotations

import signal
from pathlib import Path

import grpc
import numpy as np
import pytest
import tensorflow as tf

from tests.serving import exports, saved_models
from tests.serving.server import IS_STAND_IN, Server, config_of, of, serving, started
from tests.support.waiting import eventually

ONE_TRY = ("--max_num_load_retries=1", "--load_retry_interval_micros=1000")


def refused(server: Server) -> str:
    """What a server says that does not start."""
    assert server.ended() == 255
    (line,) = [one for one in server.words.splitlines() if one.startswith("Failed to start")]
    return line


def said(server: Server, words: str) -> None:
    eventually(f"the log to say {words!r}", lambda: words in server.words, 60)


def test_ports_open_when_the_first_models_are_loaded(tmp_path: Path, base: Path) -> None:
    with started(tmp_path, *of(base)) as server:
        said(server, f"Could not find base path {base}")
        assert not server.listens()
        base.mkdir()
        said(server, f"No versions of servable m found under base path {base}")
        assert not server.listens()
        saved_models.put(base, 1, 2.0)
        eventually("the port", server.listens, 60)
        assert server.states() == {1: "AVAILABLE"}
        assert server.scale() == 2


def test_a_broken_version_at_the_start_ends_the_server(tmp_path: Path, base: Path) -> None:
    """The same disk on which a server that runs already goes on."""
    saved_models.put(base, 1, 2.0)
    saved_models.put_broken(base, 2)
    with started(tmp_path, *of(base, *ONE_TRY)) as server:
        line = refused(server)
        assert line.startswith(
            "Failed to start server. Error: UNKNOWN: 1 servable(s) did not become available: "
            "{{{name: m version: 2} due to error: "
        )
        assert "Retrying of Loading servable: {name: m version: 2} retry: 1" in server.words


def test_a_broken_version_beside_a_good_one_delays_the_start_by_its_retries(
    tmp_path: Path, base: Path
) -> None:
    """One version of each model is enough, but the ports wait for every load that has begun."""
    saved_models.put(base, 1, 2.0)
    saved_models.put_broken(base, 2)
    config = tmp_path / "models.config"
    config.write_text(config_of({"name": "m", "path": base, "policy": "all {}"}))
    flags = ("--max_num_load_retries=1", "--load_retry_interval_micros=2000000")
    with started(tmp_path, f"--model_config_file={config}", *flags) as server:
        said(server, "Successfully loaded servable version {name: m version: 1}")
        eventually("the port", server.listens, 60)
        assert server.states() == {1: "AVAILABLE", 2: "END"}


def test_a_label_needs_a_version_that_serves_or_the_flag(tmp_path: Path, base: Path) -> None:
    saved_models.put(base, 1, 2.0)
    config = tmp_path / "models.config"
    config.write_text(config_of({"name": "m", "path": base, "labels": {"stable": 1}}))
    with started(tmp_path, f"--model_config_file={config}") as server:
        assert refused(server) == (
            "Failed to start server. Error: FAILED_PRECONDITION: Request to assign label to "
            "version 1 of model m, which is not currently available for inference"
        )
    flag = "--allow_version_labels_for_unavailable_models"
    with serving(tmp_path, f"--model_config_file={config}", flag) as server:
        assert server.scale(label="stable") == 2


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("model_config_file", "model_config_list { confg {} }", "Invalid protobuf file: "),
        (
            "model_config_file",
            config_of({"name": "m", "path": "/m"}, {"name": "m", "path": "/n"}),
            "Illegal to list model m multiple times in config list",
        ),
        (
            "model_config_file",
            config_of({"name": "m", "path": "models/m"}),
            "Expected model m to have an absolute path or URI; got base_path()=models/m",
        ),
        (
            "model_config_file",
            'model_config_list { config { name: "m" base_path: "/m" } }',
            "Illegal setting neither ModelServerConfig::model_type (deprecated) nor "
            "ModelServerConfig::model_platform, model name is m",
        ),
        ("batching_parameters_file", "max_batch_size { value: 8 } rows: 1", "Invalid protobuf"),
        ("monitoring_config_file", "prometheus_config { enable: yes }", "Invalid protobuf"),
    ],
)
def test_a_file_that_is_wrong_ends_the_server(
    tmp_path: Path, base: Path, name: str, text: str, words: str
) -> None:
    saved_models.put(base, 1, 2.0)
    file = tmp_path / "a.config"
    file.write_text(text)
    more = () if name == "model_config_file" else of(base, "--enable_batching")
    with started(tmp_path, *more, f"--{name}={file}") as server:
        assert f"INVALID_ARGUMENT: {words}" in refused(server)


def test_parameters_of_batching_alone_are_refused(tmp_path: Path, base: Path) -> None:
    with started(tmp_path, *of(base), f"--batching_parameters_file={tmp_path}/no") as server:
        assert "is set without setting server_options.enable_batching to true." in refused(server)


def test_without_a_model_it_does_not_start(tmp_path: Path) -> None:
    with started(tmp_path) as server:
        assert "model_base_path and server_options.model_config_file are empty!" in refused(server)


def test_an_export_of_the_trainer_is_served(tmp_path: Path, base: Path) -> None:
    _, model = exports.digits(base)
    image = np.random.default_rng(1).random((2, *exports.SHAPE), np.float32)
    with serving(tmp_path, *of(base)) as server:
        (answer,) = server.predict(inputs={exports.INPUT: image}).outputs.values()
        found = server.rest("/v1/models/m:predict", {"instances": image.tolist()}).document
    expected = model(image, training=False).numpy()
    np.testing.assert_allclose(tf.make_ndarray(answer), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found["predictions"], expected, rtol=1e-5, atol=1e-6)


def test_a_connection_ends_at_the_age_that_the_flag_says(tmp_path: Path, base: Path) -> None:
    """So that the clients of a server that is one of several ask for names again."""
    saved_models.put(base, 1, 2.0)
    age = "--grpc_channel_arguments=grpc.max_connection_age_ms=500"
    with serving(tmp_path, *of(base, age)) as server:
        with grpc.insecure_channel(server.grpc_address) as channel:
            seen: list[grpc.ChannelConnectivity] = []
            channel.subscribe(seen.append, try_to_connect=True)
            ready, idle = grpc.ChannelConnectivity.READY, grpc.ChannelConnectivity.IDLE
            eventually("a connection", lambda: ready in seen)
            eventually("its end", lambda: idle in seen[seen.index(ready) :])
        assert server.scale() == 2


def test_three_words_on_threads_are_one_too_many(tmp_path: Path, base: Path) -> None:
    kinds = ("session", "intra_op", "inter_op")
    flags = [f"--tensorflow_{kind}_parallelism=1" for kind in kinds]
    with started(tmp_path, *of(base, *flags)) as server:
        assert "separately. You cannot configure all." in refused(server)


def test_sigterm_ends_it_at_once(two_versions: Server) -> None:
    """It asks for no signal (serving#1853): as a container's first process it would live on."""
    two_versions.process.send_signal(signal.SIGTERM)
    assert two_versions.ended() == -signal.SIGTERM


@pytest.mark.skipif(not IS_STAND_IN, reason="the true server starts all the same")
@pytest.mark.parametrize(
    ("flag", "words"),
    [
        ("--enable_profiler=false", "the stand-in does not implement --enable_profiler"),
        ("--model_nam=m", "unknown argument: --model_nam=m"),
        ("models", "unknown argument: models"),
        ("--max_num_load_retries=few", "Couldn't interpret value 'few' for flag"),
    ],
)
def test_the_stand_in_refuses_a_flag_that_it_has_not(tmp_path: Path, flag: str, words: str) -> None:
    with started(tmp_path, flag) as server:
        assert server.ended() == 255
        assert words in server.words


def test_it_tells_its_version(tmp_path: Path) -> None:
    with started(tmp_path, "--version") as server:
        assert server.ended() == 0
        assert "TensorFlow ModelServer: " in server.words
        assert "TensorFlow Library: 2." in server.words
