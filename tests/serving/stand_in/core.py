"""Models as the configuration names them, polled and reloaded (model_servers/server_core.cc)."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic

from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig

from tests.serving.stand_in import configs, versions
from tests.serving.stand_in.manager import Manager, Model
from tests.serving.stand_in.states import State, States
from tests.serving.stand_in.status import StatusError, invalid
from tests.serving.stand_in.versions import log

PLATFORM = "tensorflow"


@dataclass
class Core(Generic[Model]):
    """Which models are served, under which labels; the thread that looks for new versions."""

    states: States
    manager: Manager[Model]
    poll_seconds: int
    labels_before_models: bool
    _config: ModelServerConfig = field(default_factory=ModelServerConfig)
    _models: list[Any] = field(default_factory=list)
    _labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    _reloading: threading.Lock = field(default_factory=threading.Lock)
    _polling: threading.Lock = field(default_factory=threading.Lock)
    _started: bool = False

    def reload(self, config: ModelServerConfig) -> None:
        """Serve these models, and no others. Raises StatusError.

        Returns when each model that is new has a version that serves, however long that takes;
        until then every other reload waits.
        """
        with self._reloading:
            if config.WhichOneof("config") == "custom_model_config":
                raise StatusError(
                    "FAILED_PRECONDITION",
                    "Cannot transition to requested config. It is only legal to transition from "
                    "one ModelConfigList to another.",
                )
            if config.WhichOneof("config") is None:
                log("Taking no action for empty config.")
                return
            _check(config)
            self._config = config
            self._labels = self._with_labels()
            log("Adding/updating models.")
            self._update(list(config.model_config_list.config))
            log("Finished adding/updating models")

    def poll_config(self, path: str, seconds: float) -> None:
        """Read the file again and again, in a thread, and serve what it says."""

        def poll() -> None:
            while True:
                began = time.monotonic()
                try:
                    config = configs.models(path)
                except StatusError as error:
                    log(f"Failed to read ModelServerConfig file: {error.words}")
                else:
                    try:
                        self.reload(config)
                    except StatusError as error:
                        words = "PollFilesystemAndReloadConfig failed to ReloadConfig"
                        log(f"{words}: {error.words}")
                time.sleep(max(0.0, seconds - (time.monotonic() - began)))

        threading.Thread(target=poll, daemon=True).start()

    @contextmanager
    def held(self, spec: ModelSpec) -> Iterator[tuple[int, Model]]:
        """The version that a request asks for. Raises StatusError."""
        if not spec.name:
            raise invalid("ModelSpec has no name specified.")
        version = spec.version.value if spec.HasField("version") else None
        if spec.WhichOneof("version_choice") == "version_label":
            version = self._labels.get(spec.name, {}).get(spec.version_label)
            if version is None:
                raise invalid(f"Unrecognized servable version label: {spec.version_label}")
        with self.manager.held(spec.name, version) as found:
            yield found

    def _with_labels(self) -> Mapping[str, Mapping[str, int]]:
        """The labels of the configuration; each needs a version that serves. Raises StatusError.

        With --allow_version_labels_for_unavailable_models a label that is new needs none; one that
        moves still does.
        """
        made: dict[str, dict[str, int]] = {}
        for model in self._config.model_config_list.config:
            found = self.states.versions(model.name)
            for label, version in model.version_labels.items():
                before = self._labels.get(model.name, {}).get(label)
                is_new = before is None or before == version
                seen = found.get(version)
                if not (self.labels_before_models and is_new) and (
                    seen is None or seen.state != State.AVAILABLE
                ):
                    raise StatusError(
                        "FAILED_PRECONDITION",
                        f"Request to assign label to version {version} of model {model.name}, "
                        "which is not currently available for inference",
                    )
                made.setdefault(model.name, {})[label] = version
        return made

    def _update(self, models: list[Any]) -> None:
        for model in models:
            log(f" (Re-)adding model: {model.name}")
            if model.model_platform != PLATFORM:
                raise invalid(_platform_words(model))
        with self.states.fresh() as fresh:
            with self._polling:
                before = {model.name for model in self._models}
                names = {model.name for model in models}
                self._models = models
                for name in before - names:
                    self.manager.aspire(name, {})
            if self._started:
                _refuse(fresh.await_available(names - before), "model(s)")
                return
            self.manager.start()
            self._poll()
            failed = fresh.await_available(names)
        self.manager.started()
        _refuse(failed, "servable(s)")
        self._started = True

    def _poll(self) -> None:
        """Look for versions, in a thread: now, and every so many seconds."""

        def poll() -> None:
            while self.poll_seconds >= 0:
                began = time.monotonic()
                self._look()
                if self.poll_seconds == 0:
                    return
                time.sleep(max(0.0, self.poll_seconds - (time.monotonic() - began)))

        threading.Thread(target=poll, daemon=True).start()

    def _look(self) -> None:
        """Find the versions of all models; where one path is missing, nothing at all changes."""
        with self._polling:
            try:
                found = {model.name: versions.aspired(model) for model in self._models}
            except StatusError as error:
                words = "FileSystemStoragePathSource encountered a filesystem access error"
                log(f"{words}: {error.words}")
                return
            for name, wanted in found.items():
                self.manager.aspire(name, wanted)


def _check(config: ModelServerConfig) -> None:
    """Names are unique, paths absolute. Raises StatusError."""
    names: set[str] = set()
    for model in config.model_config_list.config:
        if model.name in names:
            raise invalid(f"Illegal to list model {model.name} multiple times in config list")
        names.add(model.name)
        if not model.base_path.startswith("/"):
            raise invalid(
                f"Expected model {model.name} to have an absolute path or URI; got base_path()="
                f"{model.base_path}"
            )
        if model.HasField("logging_config") or model.model_type:
            raise invalid("the stand-in does not implement logging_config and model_type")


def _platform_words(model: Any) -> str:
    if not model.model_platform:
        return (
            "Illegal setting neither ModelServerConfig::model_type (deprecated) nor "
            f"ModelServerConfig::model_platform, model name is {model.name}"
        )
    return f"Model {model.name} requests unsupported platform {model.model_platform}"


def _refuse(failed: list[str], kind: str) -> None:
    if failed:
        words = "".join(failed)
        raise StatusError("UNKNOWN", f"{len(failed)} {kind} did not become available: {{{words}}}")
