"""The verbs from Python: what docs/api.md says, equal to the commands, and no I/O."""

from __future__ import annotations

import doctest
import io
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
import tf_cluster
from tf_cluster import FindingsError, generate, load, validate
from tf_cluster.check import check

from tests.generator.conftest import ROOT

EXAMPLES = sorted((ROOT / "values-examples").glob("*.params.yaml"))


def test_every_example_of_the_page_is_as_it_says() -> None:
    said = io.StringIO()
    parser = doctest.DocTestParser()
    page = ROOT / "docs" / "api.md"
    test = parser.get_doctest(page.read_text(encoding="utf-8"), {}, "api.md", str(page), 0)

    done = doctest.DocTestRunner(verbose=False).run(test, out=said.write)

    assert done.failed == 0, said.getvalue()
    assert done.attempted > 10


def test_importing_the_package_imports_nothing_of_it() -> None:
    code = (
        "import sys, tf_cluster\n"
        "print([one for one in sys.modules if one.startswith('tf_cluster.') or one == 'yaml'])\n"
        "print(callable(tf_cluster.load), sorted(tf_cluster.__all__) == sorted(\n"
        "    name for name in dir(tf_cluster) if name in tf_cluster.__all__))\n"
        "tf_cluster.nothing\n"
    )
    ran = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=False)

    assert ran.stdout == "[]\nTrue True\n"
    assert "module 'tf_cluster' has no attribute 'nothing'" in ran.stderr


@pytest.mark.parametrize("verb", ["validate", "plan"])
def test_what_asks_no_cluster_loads_no_client_of_one_and_no_pydantic(verb: str) -> None:
    """Each is a good part of a cold start. typer 0.29 and later load pydantic for any option."""
    code = (
        "import atexit, sys\n"
        "from tf_cluster.cli import main\n"
        "large = ('lightkube', 'httpx2', 'pydantic')\n"
        "loaded = lambda: [one for one in sys.modules if one in large]\n"
        "atexit.register(lambda: print(loaded(), file=sys.stderr))\n"
        f"sys.argv = ['tf-cluster', '{verb}', {str(EXAMPLES[0])!r}]\n"
        "main()\n"
    )
    ran = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[-1] == "[]"


def _beside(path: Path) -> dict[str, str | bytes]:
    return {
        str(one.relative_to(path.parent)): one.read_bytes() for one in path.parent.rglob("*.py")
    }


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_an_example_is_generated_as_by_the_command(path: Path) -> None:
    values = path.with_name(path.name.replace("params", "values"))

    text = generate(path.read_bytes(), file=path.name, read=_beside(path), output=values.name)

    assert text == values.read_text()


def test_findings_are_those_of_a_check_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import argparse\np = argparse.ArgumentParser()\n")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/__init__.py").write_text("")
    (tmp_path / "pkg/net.py").write_text("class Net: pass\n")
    base = "name: a\nimage: r/i:1\n"
    for program in (
        "program: {script: train.py, args: ['--x'], source: {files: [train.py]}}\n",
        "program: {script: train.py, args: ['--x'], source: {files: [train.py, no.py]}}\n",
        "program: {module: 'pkg.net:Net'}\n",
        "program: {module: 'pkg.net:Nett'}\n",
        "program: {module: 'pkg.other:Net'}\n",
        "program: {module: 'net:Net', path: pkg}\n",
        "program: {module: 'net:Net', path: ../pkg}\n",
    ):
        there = check("params.yaml", (base + program).encode(), folder=tmp_path)
        files = _beside(tmp_path / "p")
        for read in (files, files.get):
            given = load(base + program, read=read)
            assert [_told(one, tmp_path) for one in given.findings] == [
                _told(one, tmp_path) for one in there.findings
            ], program


def _told(finding: Any, folder: Path) -> tuple[str, ...]:
    words = finding.words.replace(f": no file {folder}/no.py", "")
    return (finding.code, str(finding.place), words, finding.severity)


def test_nothing_is_read_from_a_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    params = "name: a\nimage: r/i:1\nprogram: {module: 'os_like.m:C'}\nflags: {a: 1}\n"
    validate(params)  # the schemas are read, once
    touched: list[str] = []

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event in ("open", "os.listdir", "os.scandir"):
            touched.append(f"{event} {arguments[0]}")

    watching = True
    sys.addaudithook(note)
    validate(params)
    generate(params)
    load(params, read=lambda name: None)
    watching = False

    assert touched == []


def test_results_are_frozen_and_no_one_elses(tmp_path: Path) -> None:
    params = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
    loaded = load(params)
    before = generate(params)

    with pytest.raises(FrozenInstanceError):
        loaded.file = "x"  # type: ignore[misc]
    dict(loaded.values)["storage"]["data"]["accessModes"].append("mine")
    assert generate(params) == before
    assert load(loaded) is loaded


def test_an_error_goes_from_one_process_to_another() -> None:
    with pytest.raises(FindingsError) as refused:
        generate("name: 3\n")

    sent = pickle.loads(pickle.dumps(refused.value))

    assert (str(sent), sent.findings) == (str(refused.value), refused.value.findings)


def test_any_bytes_are_findings_and_never_a_traceback() -> None:
    for raw in (b"", b"\xff", b"\0", b"a: [", b"- 1", "a: \ud800", b"x" * 2_000_000):
        assert validate(raw)
        with pytest.raises(FindingsError):
            generate(raw)


def test_the_package_says_what_it_has() -> None:
    assert set(tf_cluster.__all__) <= set(dir(tf_cluster))
