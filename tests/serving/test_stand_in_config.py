"""models.config that changes: read again and again, or sent by gRPC."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf import text_format
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tests.serving import saved_models
from tests.serving.server import Server, config_of, serving
from tests.support.waiting import eventually

BOTH = "specific { versions: 1 versions: 2 }"


def message(*models: Any) -> ModelServerConfig:
    return text_format.Parse(config_of(*models), ModelServerConfig())


@pytest.fixture
def config(tmp_path: Path, base: Path) -> Path:
    """The file that `server` reads every second: m, version 1 alone, labelled stable."""
    saved_models.put(base, 1, 2.0)
    saved_models.put(base, 2, 3.0)
    file = tmp_path / "models.config"
    write(file, model(base, "specific { versions: 1 }", stable=1))
    return file


def model(base: Path, policy: str, **labels: int) -> dict[str, Any]:
    return {"name": base.name, "path": base, "policy": policy, "labels": labels}


def write(file: Path, *models: Any) -> None:
    temporary = file.with_suffix(".new")
    temporary.write_text(config_of(*models))
    temporary.rename(file)


@pytest.fixture
def server(tmp_path: Path, config: Path) -> Iterator[Server]:
    flags = (
        f"--model_config_file={config}",
        "--model_config_file_poll_wait_seconds=1",
        "--allow_version_labels_for_unavailable_models=true",
    )
    with serving(tmp_path, *flags) as server:
        yield server


def test_a_label_moves_in_two_steps(server: Server, config: Path, base: Path) -> None:
    assert server.scale(label="stable") == 2
    # A label that moves to a version that is not loaded: all of the new file is refused.
    write(config, model(base, BOTH, stable=2))
    refused = (
        "PollFilesystemAndReloadConfig failed to ReloadConfig: Request to assign label to "
        "version 2 of model m, which is not currently available for inference"
    )
    eventually("the refusal", lambda: refused in server.words, 60)
    assert server.states() == {1: "AVAILABLE"}
    write(config, model(base, BOTH, stable=1))
    server.await_states({1: "AVAILABLE", 2: "AVAILABLE"})
    write(config, model(base, BOTH, stable=2, old=1))
    eventually("the move", lambda: server.scale(label="stable") == 3, 60)
    eventually("a label that is new", lambda: server.scale(label="old") == 2, 60)
    write(config, model(base, BOTH, stable=1))
    eventually("the way back", lambda: server.scale(label="stable") == 2, 60)
    with pytest.raises(grpc.RpcError) as caught:
        server.scale(label="old")
    assert caught.value.details() == "Unrecognized servable version label: old"


def test_a_file_that_is_wrong_changes_nothing(server: Server, config: Path, base: Path) -> None:
    config.write_text("model_config_list { confg {} }")
    words = "Failed to read ModelServerConfig file: Invalid protobuf file: "
    eventually("the refusal", lambda: words in server.words, 60)
    assert server.scale(label="stable") == 2


def test_models_come_and_go_without_a_restart(
    server: Server, config: Path, base: Path, tmp_path: Path
) -> None:
    saved_models.put(tmp_path / "other", 5, 7.0)
    write(config, model(base, "all {}"), model(tmp_path / "other", "all {}"))
    server.await_states({5: "AVAILABLE"}, "other")
    assert server.scale("other") == 7
    write(config, model(base, "all {}"))
    server.await_states({5: "END"}, "other")
    with pytest.raises(grpc.RpcError) as caught:
        server.scale("other")
    assert caught.value.details() == "Servable not found for request: Latest(other)"
    assert server.process.poll() is None


def test_the_next_poll_undoes_a_reload_by_grpc(server: Server, base: Path, tmp_path: Path) -> None:
    saved_models.put(tmp_path / "other", 5, 7.0)
    sent = message(model(base, BOTH), model(tmp_path / "other", "all {}"))
    answer = server.reload(sent)
    assert answer.status.error_code == 0
    assert server.scale("other") == 7  # it waits for new models
    server.await_states({5: "END"}, "other")


def test_a_model_without_its_directory_blocks_all_that_comes_after(
    server: Server, config: Path, base: Path, tmp_path: Path
) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        server.reload(message(model(base, BOTH), model(tmp_path / "gone", "all {}")), seconds=3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    with pytest.raises(grpc.RpcError) as caught:
        server.reload(message(model(base, BOTH)), seconds=3)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    # Not even a new version of the model that is well is seen: the look at all of them fails.
    saved_models.put(base, 3, 4.0)
    write(config, model(base, "all {}"))
    words = f"Could not find base path {tmp_path / 'gone'} for servable gone"
    eventually("the error", lambda: words in server.words, 60)
    assert set(server.states()) <= {1, 2}
    assert server.scale(version=1) == 2
    # With the directory all that waited goes on.
    saved_models.put(tmp_path / "gone", 1, 9.0)
    eventually("the file's models", lambda: server.states().get(3) == "AVAILABLE", 60)


def test_a_reload_says_why_it_was_refused(server: Server, base: Path) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        server.reload(ModelServerConfig())
    assert "Only ModelConfigList is currently supported" in str(caught.value.details())
    twice = message(model(base, BOTH), model(base, BOTH))
    with pytest.raises(grpc.RpcError) as caught:
        server.reload(twice)
    assert caught.value.details() == "Illegal to list model m multiple times in config list"
