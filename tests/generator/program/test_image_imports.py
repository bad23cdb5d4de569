"""The list of what the trainer's images can import is that of their locks, and is used."""

from __future__ import annotations

from importlib.util import find_spec
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
    ("line", "name"),
    [
        ("import tensorflow.contrib.slim as slim", "contrib"),
        ("from tensorflow.contrib import slim", "contrib"),
        ("from tensorflow import contrib, keras", "contrib"),
        ("from tensorflow.examples.tutorials.mnist import input_data", "examples"),
    ],
)
def test_what_was_in_tensorflow_1_alone_is_a_warning(line: str, name: str, tmp_path: Path) -> None:
    assert found(tmp_path, f"{line}\n{line}\n") == [
        f"the trainer's image has no tensorflow.{name}, which train.py:1 imports"
    ]
    here = find_spec("tensorflow")
    assert here is not None
    assert here.origin is not None
    assert not (Path(here.origin).parent / name).exists()


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import pandas\nexcept ImportError:\n    pandas = None\n",
        "def late():\n    import pandas\n",
        "import sys\nif sys.platform == 'win32':\n    import winreg2\n",
        "import distutils, imp, telnetlib, tomllib, zoneinfo, asyncore\n",
        "from tensorflow import keras\nimport tensorflow.python.contribution\n",
        "from google.protobuf import text_format\nimport six.moves.urllib\n",
        "import tf_cluster_trainer\n",
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
    file = PARAMS.format(image=STOCK, files="train.py").encode()
    (finding,) = check("p.yaml", file, folder=tmp_path).findings

    assert finding.words == (
        "train.py:1 imports helper, but helper.py is not among the files "
        "(add helper.py to program.source.files)"
    )


def test_what_a_module_of_the_program_imports_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("import os\nimport pandas\n")

    assert found(tmp_path, "import helper\nimport pandas\n", files="train.py, helper.py") == [
        "the trainer's image has no pandas, which helper.py:2 imports"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess, sys\n"
        "subprocess.check_call([sys.executable, '-m', 'pip', 'install', 'x'])\n",
        "import subprocess\nfor one in ('x', 'y'):\n    subprocess.run(['pip', 'install', one])\n",
        "from os import system\nsystem('pip install x')\n",
        "import os\nif os.system('pip install x'):\n    print('no')\n",
        "import pip\npip.main(['install', 'x'])\n",
        "def install(): ...\ninstall()\n",
        "import sys\nif len(sys.argv) < 2:\n    sys.exit('usage')\n",
        "import tensorflow as tf\nif tf.__version__ < '2':\n    raise SystemExit('TensorFlow 2')\n",
        "with open('helper.py', 'w') as file:\n    file.write('x = 1')\n",
        "import pathlib\npathlib.Path('helper.py').write_text('x = 1')\n",
    ],
)
def test_what_is_imported_after_an_install_or_an_end_is_not_told(code: str, tmp_path: Path) -> None:
    assert found(tmp_path, f"{code}import helper\n") == []
    (tmp_path / "first.py").write_text(code)
    assert found(tmp_path, "import first\nimport helper\n", files="train.py, first.py") == []


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos.environ['A'] = 'b'\nos.environ.setdefault('A', 'c')\n",
        "import logging\nlogging.basicConfig()\nlog = logging.getLogger()\nlog.info('a')\n",
        "import tensorflow as tf\ntf.get_logger().setLevel('ERROR')\n",
        "import warnings\nwarnings.filterwarnings('ignore')\n",
        "try:\n    import cv2\nexcept ImportError:\n    cv2 = None\n",
        "from absl import flags\nflags.DEFINE_integer('a', 1, '')\nFLAGS = flags.FLAGS\n",
    ],
)
def test_what_is_imported_after_what_does_no_harm_is_told(code: str, tmp_path: Path) -> None:
    assert len(found(tmp_path, f"{code}import helper\n")) == 1
