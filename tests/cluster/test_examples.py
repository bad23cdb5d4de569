"""MNIST on a cluster without the internet, by the commands of docs/examples.md."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.conftest import IMAGE, ROOT
from tests.cluster.kubernetes import Namespace, Release
from tests.programs import idx

pytestmark = pytest.mark.cluster

PAGE = (ROOT / "docs" / "examples.md").read_text()
(COMMANDS,) = re.findall(r"^```sh\n(kubectl apply .*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
STEPS = 300


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A clone as a user has it, and beside it the folder with the four files."""
    for name in ("charts", "values-examples"):
        (tmp_path / name).symlink_to(ROOT / name)
    idx.write(tmp_path / "mnist")
    return tmp_path


def test_the_told_commands_train_mnist_from_files_that_were_copied(
    namespace: Namespace,
    make_release: Callable[[str], Release],
    read_log_volume: Callable[[str, str], str],
    folder: Path,
) -> None:
    release = make_release("mnist")
    repository, _, tag = IMAGE.rpartition(":")
    here = "".join(
        f'{tool}() {{ command {tool} --namespace "{namespace.name}" "$@"; }}\n'
        for tool in ("kubectl", "helm")
    )
    image = f"--set image.repository={repository} --set-string image.tag={tag}"
    # Few steps, and never the internet: a file that was not copied is exit 2.
    few = f"--set train.steps={STEPS} --set flags.mirror= {image}"
    told = COMMANDS.replace("localhost/tf-cluster-trainer:0.1.0", IMAGE).strip()

    namespace.shell(f"set -eu\n{here}{told} {few}", folder)

    assert told.endswith("--set storage.data.existingClaim=mnist-files")
    release.await_job("chief", "Complete", 240)
    progress = json.loads(read_log_volume("mnist-log", "cat /log/mnist/1/progress.json"))
    assert progress["status"] == "done"
    assert progress["step"] >= STEPS
    assert progress["metrics"]["accuracy"] > 0.8
