"""The sources of an earlier commit, which a measure starts beside today's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.bench.earlier import python_path, sources


def test_python_takes_the_sources_of_the_commit() -> None:
    with sources("HEAD") as folder:
        where = (
            "import tf_cluster_trainer, tf_cluster;"
            "print(tf_cluster_trainer.__file__, tf_cluster.__file__, sep='\\n')"
        )
        ran = subprocess.run(
            (sys.executable, "-c", where),
            env={**os.environ, "PYTHONPATH": python_path(folder)},
            capture_output=True,
            text=True,
            check=True,
        )
        trainer, tool = ran.stdout.splitlines()
        assert trainer.startswith(f"{folder}/trainer/src/")
        assert tool.startswith(f"{folder}/generator/src/")
    assert not folder.exists()


def test_a_clone_without_the_commit_is_told_what_to_do() -> None:
    told = r"no commit 0000000 here: .*git fetch --unshallow"
    with pytest.raises(RuntimeError, match=told), sources("0000000"):
        pass
