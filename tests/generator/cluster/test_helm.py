"""Where what helm prints goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from tf_cluster.cluster.helm import Helm


@pytest.mark.parametrize("to_stderr", [False, True])
def test_what_it_prints_leaves_stdout_to_a_document(
    to_stderr: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "helm"
    program.write_text("#!/bin/sh\necho notes\necho warning >&2\n")
    program.chmod(0o755)
    Helm(str(program), "", "default", to_stderr).run("upgrade")
    out, err = capfd.readouterr()
    assert (out, err) == (("", "notes\nwarning\n") if to_stderr else ("notes\n", "warning\n"))
