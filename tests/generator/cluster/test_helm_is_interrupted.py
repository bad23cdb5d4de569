"""A helm that runs ends when we do, whenever the signal comes."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from tf_cluster.cluster.helm import Helm

from tests.support.waiting import eventually

Popen = subprocess.Popen


@pytest.fixture
def slow(tmp_path: Path) -> Helm:
    """One that stays in the middle of its work until it is interrupted."""
    program = tmp_path / "helm"
    program.write_text(
        f"#!/bin/sh\ntrap 'echo > {tmp_path}/interrupted; exit 1' INT\n"
        f"echo > {tmp_path}/began\nwhile :; do sleep 0.1; done\n"
    )
    program.chmod(0o755)
    return Helm(str(program), "", "default")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_is_interrupted_by_a_signal_that_comes_while_it_is_started(
    number: signal.Signals, slow: Helm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave(*_: Any) -> None:
        raise SystemExit(128 + number)

    class Slowly(Popen):  # type: ignore[type-arg]
        def __init__(self, *words: Any, **more: Any) -> None:
            super().__init__(*words, **more)
            # It runs, and nobody has the object yet: a busy machine makes this long.
            eventually("helm", (tmp_path / "began").exists, 60)
            os.kill(os.getpid(), number)

    monkeypatch.setattr(subprocess, "Popen", Slowly)
    before = {one: signal.getsignal(one) for one in (signal.SIGINT, signal.SIGTERM)}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, leave)
    try:
        with pytest.raises((KeyboardInterrupt, SystemExit)):
            slow.run("upgrade")
        # What handled the signals does so again.
        assert signal.getsignal(signal.SIGTERM) is leave
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
    assert (tmp_path / "interrupted").exists()


def test_a_thread_may_run_it(slow: Helm, tmp_path: Path) -> None:
    complaints: list[Exception] = []

    def run() -> None:
        try:
            slow.run("upgrade", is_over=(tmp_path / "began").exists)
        except Exception as error:
            complaints.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(60)
    assert "helm upgrade ended with exit code 1" in str(complaints)
