"""program.source: files that become a part of the values, and what can be wrong with a source."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.formats import Format, report
from tf_cluster.local.config_files import training_document
from tf_cluster.local.folders import Folders

from tests.generator.conftest import ROOT

CHART = ROOT / "charts" / "tf-cluster"
SCHEMA = ROOT / "trainer/src/tf_cluster_trainer/schemas/training.schema.json"
HASH, COMMIT = "ab" * 32, "cd" * 20
CODE = {"train.py": "if 1 < 2 and not '&':\n    print('ä')\n", "lib/more.py": "x = 1\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in CODE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def params(source: Any, **program: Any) -> str:
    program = {"script": "train.py", **program, "source": source}
    return yaml.safe_dump({"name": "a", "image": "r/i:1", "program": program}, sort_keys=False)


def found(folder: Path, text: str) -> list[str]:
    return report(check("p.yaml", text.encode(), folder=folder).findings, Format.TEXT).splitlines()


URL = {"url": "https://e.com/c.zip", "sha256": HASH}
GIT = {"git": "https://e.com/c.git", "commit": COMMIT}
LOGIN = {"secretName": "code-login"}
SOURCES = [
    ({"files": ["train.py", "lib/more.py"]}, {"files": CODE}),
    (URL, URL),
    (GIT, GIT),
    (URL | LOGIN, URL | LOGIN),
    (GIT | LOGIN, GIT | LOGIN),
]


@pytest.mark.parametrize(("source", "expected"), SOURCES)
def test_a_source_reaches_the_trainer_from_the_chart_and_from_a_local_run(
    folder: Path, helm: str, source: dict[str, Any], expected: dict[str, Any]
) -> None:
    checked = check("p.yaml", params(source).encode(), folder=folder)
    assert checked.findings == ()
    values = folder / "values.yaml"
    values.write_text(values_text(checked.values, "p.yaml", "small"))
    ran = subprocess.run(
        (helm, "template", "r", str(CHART), "-f", str(values)),
        capture_output=True,
        text=True,
        check=True,
    )
    (configmap,) = (
        document
        for document in yaml.safe_load_all(ran.stdout)
        if document and document["kind"] == "ConfigMap"
    )
    in_pods = json.loads(configmap["data"]["training.json"])
    here = training_document(
        checked.values.effective, Folders(folder, "a", "1", folder / "data"), folder
    )
    for document in (in_pods, here):
        jsonschema.Draft7Validator(json.loads(SCHEMA.read_text())).validate(document)
        assert document["program"]["source"] == expected
        assert document["program"]["script"] == "train.py"


def test_files_are_looked_for_beside_the_params_file(folder: Path) -> None:
    (folder / "p.yaml").write_text(params({"files": ["train.py"]}))
    checked = check(str(folder / "p.yaml"), (folder / "p.yaml").read_bytes())
    assert checked.findings == ()
    assert checked.values.data["program"]["source"]["files"] == {"train.py": CODE["train.py"]}


@pytest.mark.parametrize(
    ("source", "finding"),
    [
        (
            {"files": ["tarin.py"]},
            "TFC324: tarin.py is not there: no file {folder}/tarin.py [/program/source/files/0]",
        ),
        (
            {"files": ["train.py", "lib/../../x.py"]},
            "TFC324: lib/../../x.py is not beside or below the params file "
            "[/program/source/files/1]",
        ),
        (
            {"files": ["lib"]},
            "TFC324: lib is a directory: name its files [/program/source/files/0]",
        ),
        (
            {"files": ["binary.py"]},
            "TFC324: binary.py is not UTF-8 text, which is all that a ConfigMap is given here "
            "[/program/source/files/0]",
        ),
        (
            {"files": ["train.py", "large.py"]},
            "TFC325: program.source.files has 600 KiB as JSON, and at most 512 KiB fit (put the "
            "code at an address (program.source.url), in Git, or on the data volume) "
            "[/program/source/files]",
        ),
        (
            {"files": ["/etc/passwd"]},
            'TFC206: program.source.files[0] is "/etc/passwd", not a relative path of letters, '
            "digits, '_', '.', '-', '/' and blanks, as in train.py [/program/source/files/0]",
        ),
        ({"files": []}, "TFC205: program.source.files is empty [/program/source/files]"),
        (
            {"url": "https://e.com/c.zip"},
            "TFC202: 'sha256' is missing in program.source (add sha256: …)",
        ),
        (
            {"git": "https://e.com/c", "commit": COMMIT, "sha256": HASH},
            "TFC207: program.source.sha256 does not go with program.source.git (keep one of them)",
        ),
        (
            {"git": "https://e.com/c", "commit": "main"},
            'TFC206: program.source.commit is "main", not all 40 hexadecimal digits of a commit',
        ),
        (
            {"url": "https://me:secret@e.com/c.zip", "sha256": HASH},
            "TFC206: program.source.url is ",
        ),
        ({"url": "ftp://e.com/c.zip", "sha256": HASH}, "TFC206: program.source.url is "),
        ({}, "TFC202: 'files' or 'url' or 'git' is missing in program.source"),
    ],
)
def test_what_is_wrong_with_a_source_is_told(
    folder: Path, source: dict[str, Any], finding: str
) -> None:
    (folder / "binary.py").write_bytes(b"\xff\xfe")
    (folder / "large.py").write_text("<" * 1024 * 100)
    (line,) = found(folder, params(source))
    assert line.partition(": ")[2].startswith(finding.format(folder=folder))


@pytest.mark.parametrize(
    ("program", "key"),
    [
        ({"script": "/data/train.py"}, "script"),
        ({"path": "/data"}, "path"),
        ({"path": "../x"}, "path"),
    ],
)
def test_paths_beside_a_source_lead_into_it(
    folder: Path, program: dict[str, Any], key: str
) -> None:
    (line,) = found(folder, params({"files": ["train.py"]}, **program))
    assert f"TFC326: program.{key} is '{program[key]}'; with a program.source" in line


def test_a_module_can_come_from_a_source(folder: Path) -> None:
    hooks = "    def build_model(self, ctx): ...\n    def dataset(self, ctx, input_context): ...\n"
    program = f"from tf_cluster_trainer import Program\nclass X(Program):\n{hooks}"
    (folder / "lib" / "more.py").write_text(program)
    text = (
        "name: a\nimage: r/i:1\n"
        "program: {module: 'more:X', path: lib, source: {files: [lib/more.py]}}\n"
    )
    assert found(folder, text) == []
