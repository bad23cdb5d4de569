"""Servers that several cases ask."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

if importlib.util.find_spec("tensorflow_serving") is None:  # pragma: no cover
    raise pytest.UsageError("tensorflow-serving-api is missing: install requirements/dev.txt")

from tests.serving import saved_models
from tests.serving.server import Server, config_of, serving


@pytest.fixture(scope="session", autouse=True)
def _templates() -> Iterator[None]:
    """The SavedModels that cases copy are removed at the end."""
    yield
    for folder in saved_models.MADE:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def two_versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Model m with versions 1 (times 2) and 2 (times 3), labels stable and canary, and metrics."""
    folder = tmp_path_factory.mktemp("two-versions")
    for version in (1, 2):
        saved_models.put(folder / "m", version, version + 1.0)
    (folder / "monitoring.config").write_text(
        'prometheus_config { enable: true path: "/monitoring/prometheus/metrics" }\n'
    )
    labels = {"stable": 1, "canary": 2}
    model = {"name": "m", "path": folder / "m", "policy": "all {}", "labels": labels}
    (folder / "models.config").write_text(config_of(model))
    flags = (
        f"--model_config_file={folder}/models.config",
        f"--monitoring_config_file={folder}/monitoring.config",
        "--allow_version_labels_for_unavailable_models=true",
    )
    with serving(folder, *flags) as server:
        server.await_states({1: "AVAILABLE", 2: "AVAILABLE"})
        yield server


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """The directory of a model's versions."""
    return tmp_path / "m"
