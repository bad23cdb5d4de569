"""`validate` and `generate` with many files: pairs by name, drift, rules across files."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.generator.conftest import Command

GOOD = "name: {}\nimage: r/i:1\nprogram: {{module: 'p.m:C'}}\n"
PORT = (
    "extraValues: {{tensorboard: {{enabled: true, service: {{type: NodePort, nodePort: {}}}}}}}\n"
)
VOLUME = "log: {class: '', volume: disk-1}\n"


def _write(folder: Path, *names: str, more: str = "") -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(GOOD.format(Path(name).name.partition(".")[0]) + more)


def test_generate_writes_pairs_and_touches_no_file_that_is_current(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "a.params.yaml", "x/b.params.yaml")

    ran = tf_cluster("generate", ".")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == "wrote a.values.yaml\nwrote x/b.values.yaml\n"
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.values.yaml")}
    _write(tmp_path, "x/b.params.yaml", more="workers: 5\n")
    again = tf_cluster("generate", ".")
    assert (again.returncode, again.stderr) == (0, "wrote x/b.values.yaml\n")
    assert (tmp_path / "a.values.yaml").stat().st_mtime_ns == before[tmp_path / "a.values.yaml"]
    single = tf_cluster("generate", "a.params.yaml", "-o", "a.values.yaml")
    assert (single.returncode, single.stderr) == (0, "")
    assert (tmp_path / "a.values.yaml").stat().st_mtime_ns == before[tmp_path / "a.values.yaml"]


def test_each_pair_is_what_the_file_alone_is_given(tf_cluster: Command, tmp_path: Path) -> None:
    _write(tmp_path, "a.params.yaml", "b.params.yaml")
    tf_cluster("generate", "a.params.yaml", "b.params.yaml")

    pair = (tmp_path / "a.values.yaml").read_text()
    alone = tf_cluster("generate", "a.params.yaml").stdout

    assert pair == alone.replace("a.params.yaml\n", "a.params.yaml -o a.values.yaml\n")
    tf_cluster("generate", "--pairs", "b.params.yaml", "-o", "out/deep")
    assert (tmp_path / "out/deep/b.values.yaml").read_text() == (
        (tmp_path / "b.values.yaml").read_text().replace("-o b.", "-o out/deep/b.")
    )


def test_a_refused_file_and_one_with_findings_do_not_keep_the_others(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "a.params.yaml", "c.params.yaml", "d.yaml")
    _write(tmp_path, "b.params.yaml", more="workers: 0\n")
    os.mkfifo(tmp_path / "pipe.params.yaml")
    (tmp_path / "c.values.yaml").mkdir()

    ran = tf_cluster("generate", ".", "nowhere.params.yaml", "d.yaml")

    assert ran.returncode == 2
    assert ran.stdout.startswith("b.params.yaml:4:10: TFC205")
    assert "wrote a.values.yaml" in ran.stderr
    assert "c.values.yaml: can't be written" in ran.stderr
    assert "pipe.params.yaml: can't be read: a pipe" in ran.stderr
    assert "nowhere.params.yaml: there is no such file" in ran.stderr
    assert "d.yaml: values are named after NAME.params.yaml" in ran.stderr
    assert not (tmp_path / "b.values.yaml").exists()
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_drift_is_a_finding_at_the_values_file_in_every_format(
    form: str, tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "a.params.yaml", "b.params.yaml", "c.params.yaml")
    tf_cluster("generate", ".")
    (tmp_path / "c.values.yaml").unlink()
    values = tmp_path / "a.values.yaml"
    values.write_text(values.read_text().replace("replicas: 2", "replicas: 7"))

    ran = tf_cluster("generate", ".", "--check", "--format", form)

    assert ran.returncode == 1
    line = values.read_text().split("\n").index("  replicas: 7") + 1
    if form == "json":
        found = [(f["file"], f["line"], f["code"]) for f in json.loads(ran.stdout)["findings"]]
        assert found == [("a.values.yaml", line, "TFC601"), ("c.values.yaml", 1, "TFC601")]
    elif form == "sarif":
        (run,) = json.loads(ran.stdout)["runs"]
        assert [result["ruleId"] for result in run["results"]] == ["TFC601", "TFC601"]
    else:
        start = f"::error file=a.values.yaml,line={line}," if form == "github" else "a.values.yaml:"
        assert ran.stdout.startswith(start)
        assert "tf-cluster generate a.params.yaml --pairs" in ran.stdout
    assert not (tmp_path / "c.values.yaml").exists()


def test_the_command_that_drift_names_mends_it(tf_cluster: Command, tmp_path: Path) -> None:
    _write(tmp_path, "c.params.yaml")
    (tmp_path / "a b.params.yaml").write_text(GOOD.format("a"))
    command = tf_cluster("generate", ".", "--check", "--format", "json", "-o", "my values").stdout
    fix = json.loads(command)["findings"][0]["fix"]

    assert fix.endswith("tf-cluster generate 'a b.params.yaml' --pairs -o 'my values'")
    assert tf_cluster("generate", "a b.params.yaml", "-o", "my values", "--pairs").returncode == 0
    assert tf_cluster("generate", "--check", ".", "-o", "my values").stdout.count("TFC601") == 1


def test_a_diff_of_many_is_on_stdout_and_findings_on_stderr(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "a.params.yaml", "b.params.yaml")

    ran = tf_cluster("generate", ".", "--diff")

    assert ran.returncode == 1
    assert ran.stdout.count("\n+++ ") == 2
    assert ran.stderr.count("TFC601") == 2
    assert list(tmp_path.glob("*.values.yaml")) == []


def test_two_files_of_one_values_file_are_refused_and_none_is_written(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "x/a.params.yaml", "y/a.params.yaml", "y/b.params.yaml")

    ran = tf_cluster("generate", "x", "y", "-o", "out")

    assert ran.returncode == 2
    assert ran.stderr.count("out/a.values.yaml would be another file's values, too") == 2
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b.values.yaml"]


def test_several_files_need_a_folder_for_their_values(tf_cluster: Command, tmp_path: Path) -> None:
    _write(tmp_path, "a.params.yaml", "b.params.yaml")

    for output in ("values.yaml", "-"):
        ran = tf_cluster("generate", ".", "-o", output)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert f"-o {output}: several values files need a folder" in ran.stderr


def test_a_values_file_that_is_a_link_out_is_not_followed(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "in/a.params.yaml", "in/b.params.yaml")
    (tmp_path / "secret").write_text("s\n")
    (tmp_path / "in/a.values.yaml").symlink_to(tmp_path / "secret")

    for option in ("--check", "--diff", "--force"):
        ran = tf_cluster("generate", "in", option)
        assert ran.returncode == 2
        assert "in/a.values.yaml is a link out of its folder" in ran.stderr
    assert (tmp_path / "secret").read_text() == "s\n"
    assert (tmp_path / "in/b.values.yaml").exists()


@pytest.mark.parametrize(
    "command",
    [
        ("validate", ""),
        ("validate", "--fix", "", "a.params.yaml"),
        ("generate", ""),
        ("generate", "a.params.yaml", "-o", ""),
        ("plan", ""),
        ("convert", "a.params.yaml", "-o", ""),
    ],
)
def test_an_empty_name_stands_for_nothing(
    tf_cluster: Command, tmp_path: Path, command: tuple[str, ...]
) -> None:
    _write(tmp_path, "a.params.yaml", more="run: {id: 1.10}\n")

    ran = tf_cluster(*command)

    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "tf-cluster: an empty name: is a variable of the shell not set?\n"
    assert [one.name for one in tmp_path.iterdir()] == ["a.params.yaml"]
    assert "id: 1.10}" in (tmp_path / "a.params.yaml").read_text()


@pytest.mark.parametrize("how", ["--pairs", "--diff"])
def test_a_folder_that_is_a_link_out_is_not_written_into(
    tf_cluster: Command, tmp_path: Path, how: str
) -> None:
    _write(tmp_path, "in/a.params.yaml", "out/x.yaml")
    (tmp_path / "in/out").symlink_to(tmp_path / "out")

    ran = tf_cluster("generate", "in/a.params.yaml", how, "-o", "in/out/")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "in/out is a link out of its folder: name the folder that it leads to" in ran.stderr
    assert [one.name for one in (tmp_path / "out").iterdir()] == ["x.yaml"]


def test_a_name_with_a_slash_at_its_end_is_a_folder_that_is_made(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "a.params.yaml")

    ran = tf_cluster("generate", "a.params.yaml", "-o", "made/of/it/")

    assert (ran.returncode, ran.stderr) == (0, "wrote made/of/it/a.values.yaml\n")
    assert (tmp_path / "made/of/it/a.values.yaml").is_file()


def test_a_folder_without_params_files_is_exit_2_with_words(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()

    for command in ("validate", "generate"):
        ran = tf_cluster(command, "empty")
        assert (ran.returncode, ran.stdout) == (2, "")
        assert "empty: there is no *.params.yaml in it or below it" in ran.stderr
        assert "another tool's" not in ran.stderr
        (tmp_path / "empty" / "params.yaml").write_text("lr: 0.1\n")  # DVC's, for one
        told = tf_cluster(command, "empty")
        assert (told.returncode, told.stdout) == (2, "")
        assert (
            "params.yaml may be another tool's: name it itself, or NAME.params.yaml" in told.stderr
        )
        (tmp_path / "empty" / "params.yaml").unlink()


def test_what_two_files_of_a_folder_cant_both_have_is_a_warning_with_both_places(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "a.params.yaml", "b.params.yaml", more=PORT.format(30006) + VOLUME)
    (tmp_path / "c.params.yaml").write_text(GOOD.format("a") + PORT.format(30006))

    ran = tf_cluster("validate", "--format", "json", ".")

    assert ran.returncode == 0
    found = json.loads(ran.stdout)["findings"]
    assert [(one["file"], one["code"]) for one in found] == [
        ("b.params.yaml", "TFC603"),
        ("b.params.yaml", "TFC604"),
        ("c.params.yaml", "TFC602"),
    ]
    assert all(one["related"][0]["file"] == "a.params.yaml" for one in found)
    assert tf_cluster("validate", "a.params.yaml").stdout == ""


def test_a_file_with_another_mistake_is_compared_in_the_same_round(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "a.params.yaml").write_text(GOOD.format("a") + "wrokers: 3\n")
    (tmp_path / "b.params.yaml").write_text(GOOD.format("a") + "train: {steps: x}\n")
    (tmp_path / "c.params.yaml").write_text(GOOD.format("A B") + "train: {steps: 1}\n")

    ran = tf_cluster("validate", "--format", "json", ".")

    codes = [(one["file"], one["code"]) for one in json.loads(ran.stdout)["findings"]]
    assert ("b.params.yaml", "TFC602") in codes
    assert [code for file, code in codes if file == "c.params.yaml"] == ["TFC206"]


def test_files_of_two_folders_may_be_one_training_in_two_places(
    tf_cluster: Command, tmp_path: Path
) -> None:
    _write(tmp_path, "dev/a.params.yaml", "prod/a.params.yaml", more=PORT.format(30006) + VOLUME)

    ran = tf_cluster("validate", ".")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr == "2 files checked: good\n"
