"""The list of what the trainer's images can import is that of their locks, and is used."""

from __future__ import annotations

from pathlib import Path

import pytest
from tf_cluster.check import check
from tf_cluster.program.image_imports import image_imports

from tools import image_imports as list_of_imports

PARAMS = "name: a\nimage: {image}\nprogram: {{script: train.py, source: {{files: [{files}]}}}}\n"
STOCK = "localhost:5000/team/tf-cluster-trainer:0.1.0-gpu"


def found(folder: Path, code: str, *, image: str = STOCK, files: str = "train.py") -> list[str]:
    (folder / "train.py").write_text(code)
    text = PARAMS.format(image=image, files=files)
    checked = check("p.yaml", text.encode(), folder=folder)
    assert all(finding.severity == "warning" for finding in checked.findings)
    return [finding.message for finding in checked.findings]


def test_the_list_has_every_package_of_the_locks_and_no_other() -> None:
    listed = list_of_imports.listed()

    assert listed.keys() == list_of_imports.locked()
    assert all(listed.values())


def test_the_names_are_those_of_the_packages_that_are_installed_here() -> None:
    here, listed = list_of_imports.installed(), list_of_imports.listed()
    both = here.keys() & listed.keys()

    assert len(both) > 50
    assert {package: here[package] for package in both} == {
        package: listed[package] for package in both
    }


@pytest.mark.parametrize(
    "name", ["tensorflow", "tf_keras", "numpy", "sklearn", "yaml", "PIL", "google", "keras", "attr"]
)
def test_what_the_image_has_can_be_imported(name: str) -> None:
    assert name in image_imports()


def test_an_import_that_no_image_has_is_a_warning_with_both_places(tmp_path: Path) -> None:
    code = "import os\nimport tensorflow as tf\nimport pandas as pd\n"

    assert found(tmp_path, code) == ["the trainer's image has no pandas, which train.py:3 imports"]


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import pandas\nexcept ImportError:\n    pandas = None\n",
        "def late():\n    import pandas\n",
        "import sys\nif sys.platform == 'win32':\n    import winreg2\n",
        "import distutils, imp, telnetlib, tomllib, zoneinfo, asyncore\n",
        "from google.protobuf import text_format\nimport six.moves.urllib\n",
        "import tf_cluster_trainer\nfrom . import nothing\n",
        "from __future__ import annotations\n",
    ],
)
def test_an_import_that_may_not_run_or_is_there_is_none(code: str, tmp_path: Path) -> None:
    assert found(tmp_path, code) == []


@pytest.mark.parametrize(
    "code",
    [
        "import sys\nsys.path.insert(0, 'lib')\nimport helper\n",
        "import sys as _sys\n_sys.path.append('lib')\nimport helper\n",
        "from sys import path\npath.append('lib')\nimport helper\n",
        "import site\nsite.addsitedir('lib')\nimport helper\n",
    ],
)
def test_where_the_code_says_where_modules_are_none_is_missed(code: str, tmp_path: Path) -> None:
    assert found(tmp_path, code) == []
    assert len(found(tmp_path, "import sys\nprint(sys.argv)\nimport helper\n")) == 1


@pytest.mark.parametrize(
    "params",
    [
        "program: {script: train.py, path: /data/code}\n",
        "program: {script: train.py, source: {files: [train.py]}}\n"
        "extraValues: {pod: {extraEnv: [{name: PYTHONPATH, value: /data/lib}]}}\n",
    ],
)
def test_where_the_file_says_where_modules_are_none_is_missed(params: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import helper\n")
    text = f"name: a\nimage: {STOCK}\n{params}"
    checked = check("p.yaml", text.encode(), folder=tmp_path)
    assert [one.words for one in checked.findings if "has no helper" in one.words] == []


def test_an_image_of_another_name_may_have_anything(tmp_path: Path) -> None:
    assert found(tmp_path, "import pandas\n", image="r/team/trainer:1") == []


def test_a_module_beside_the_script_is_no_package(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("x = 1\n")

    assert found(tmp_path, "import helper\n", files="train.py, helper.py") == []
    assert found(tmp_path, "import helper\n") == [
        "the trainer's image has no helper, which train.py:1 imports"
    ]
