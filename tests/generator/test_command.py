"""The command as people and CI see it: exit codes, streams, formats, files."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from tf_cluster import __version__

from tests.generator.conftest import Command

GOOD = "name: a\nimage: r/i:1\nprogram: {module: 'p.m:C'}\n"
OURS = "# Written by tf-cluster 0.0.9 (an older one).\nworker: {replicas: 9}\n"
WROTE = "wrote values.yaml. Next: helm install a charts/tf-cluster -f values.yaml\n"
BAD = GOOD + "wrokers: 3\n"


@pytest.fixture
def good(tmp_path: Path) -> str:
    (tmp_path / "a.params.yaml").write_text(GOOD)
    return "a.params.yaml"


@pytest.fixture
def bad(tmp_path: Path) -> str:
    (tmp_path / "b.params.yaml").write_text(BAD)
    return "b.params.yaml"


def test_version_tells_tool_params_schema_and_chart_range(tf_cluster: Command) -> None:
    ran = tf_cluster("--version")

    assert ran.returncode == 0
    assert ran.stdout.splitlines() == [
        f"tf-cluster {__version__}",
        "params schema urn:tf-cluster:params:v1",
        "values schema of the chart tf-cluster 0.1.x",
    ]


def test_a_good_file_exits_0_and_writes_nothing_on_stdout(tf_cluster: Command, good: str) -> None:
    ran = tf_cluster("validate", good)

    assert (ran.returncode, ran.stdout) == (0, "")
    assert "1 file checked: good" in ran.stderr


def test_findings_are_the_data_of_validate_and_exit_1(tf_cluster: Command, bad: str) -> None:
    ran = tf_cluster("validate", bad)

    assert ran.returncode == 1
    assert ran.stdout.startswith("b.params.yaml:4:1: TFC201: unknown key 'wrokers'")
    assert ran.stderr == "1 error (--fix --unsafe-fixes mends 1)\n"


def test_a_warning_alone_exits_0(tf_cluster: Command) -> None:
    ran = tf_cluster("validate", "-", stdin=GOOD + "train: {checkpoint: {steps: 5000}}\n")

    assert ran.returncode == 0
    assert "TFC306: warning:" in ran.stdout


def test_a_missing_file_exits_2_after_the_findings_of_the_others(
    tf_cluster: Command, bad: str
) -> None:
    ran = tf_cluster("validate", "a.parms.yaml", bad)

    assert ran.returncode == 2
    assert "TFC201" in ran.stdout
    assert "tf-cluster: a.parms.yaml: there is no such file" in ran.stderr


def test_a_missing_file_is_told_with_the_name_that_was_meant(
    tf_cluster: Command, good: str
) -> None:
    ran = tf_cluster("generate", "a.parms.yaml")

    assert ran.returncode == 2
    assert "(did you mean a.params.yaml?)" in ran.stderr


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("nope.yaml", ""),
        ("nope.params.yaml", ""),
        ("a.yaml", ""),
        ("mnits.params.yaml", "mnist.params.yaml"),
        ("mnist.yaml", "mnist.params.yaml"),
        ("digit.parms.yaml", "digits.params.yaml"),
        ("digits.pams.yaml", "digits.params.yaml"),
    ],
)
def test_only_a_near_name_of_a_file_is_proposed(
    tf_cluster: Command, tmp_path: Path, name: str, near: str
) -> None:
    for one in ("s.yaml", "s.params.yaml", "mnist.params.yaml", "digits.params.yaml", "digits.py"):
        (tmp_path / one).write_text(OURS)

    said = f" (did you mean {near}?)" if near else ""
    assert tf_cluster("generate", name).stderr.endswith(f"there is no such file{said}\n")


def test_values_are_no_params_file_that_was_meant(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "a.values.yaml").write_text(OURS)

    assert "did you mean" not in tf_cluster("validate", "a.value.yaml").stderr


def test_a_usage_error_exits_2_without_a_traceback(tf_cluster: Command) -> None:
    ran = tf_cluster("validate", "--formt", "json", "x")

    assert ran.returncode == 2
    assert "--format" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_a_bug_exits_2_and_says_so(tf_cluster: Command, tmp_path: Path, good: str) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import tf_cluster.expand.preset as p\np.PRESETS['small']['worker']['replicas'] = 'two'\n"
    )

    ran = tf_cluster("generate", good, PYTHONPATH=str(tmp_path))

    assert ran.returncode == 2
    assert ran.stdout == ""
    assert "refused by the chart: worker.replicas is" in ran.stderr
    assert "this is a bug in tf-cluster" in ran.stderr


def test_validate_never_imports_tensorflow_nor_rich(tf_cluster: Command, good: str) -> None:
    ran = tf_cluster("validate", good, PYTHONPROFILEIMPORTTIME="1")

    imported = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "tf_cluster.check" in imported
    assert not {"tensorflow", "tf_cluster_trainer", "rich", "numpy"} & imported


def test_stdin_is_named_in_findings(tf_cluster: Command) -> None:
    ran = tf_cluster("validate", "-", stdin=BAD)

    assert ran.stdout.startswith("<stdin>:4:1: TFC201")


def test_json_is_versioned_and_carries_pointer_value_and_fix(tf_cluster: Command) -> None:
    ran = tf_cluster("validate", "--format", "json", "-", stdin=GOOD + "workers: 0\n")

    document = json.loads(ran.stdout)
    assert document["version"] == 1
    assert document["findings"] == [
        {
            "file": "stdin",
            "line": 4,
            "column": 10,
            "code": "TFC205",
            "severity": "error",
            "message": "workers is 0; at least 1 is needed",
            "fix": "",
            "pointer": "/workers",
            "value": 0,
            "related": [],
        }
    ]


def test_github_lines_are_escaped_and_relative(tf_cluster: Command, tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    (folder / "p.yaml").write_text(GOOD + '"100%\\r\\n": 3\n')

    ran = tf_cluster("validate", "--format", "github", str(folder / "p.yaml"))

    assert ran.stdout.startswith(
        "::error file=a%2Cb/p.yaml,line=4,col=1,title=TFC201::unknown key '100%25\\r\\n'"
    )
    assert len(ran.stdout.splitlines()) == 1


def test_sarif_names_rules_and_relative_places(tf_cluster: Command, bad: str) -> None:
    ran = tf_cluster("validate", "--format", "sarif", bad)

    document = json.loads(ran.stdout)
    (run,) = document["runs"]
    (result,) = run["results"]
    place = result["locations"][0]["physicalLocation"]
    assert document["version"] == "2.1.0"
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "TFC201"
    assert place["artifactLocation"]["uri"] == "b.params.yaml"
    assert place["region"] == {"startLine": 4, "startColumn": 1}


def test_sarif_rules_have_help_with_the_page_of_the_code(tf_cluster: Command, bad: str) -> None:
    ran = tf_cluster("validate", "--format", "sarif", bad)

    rules = json.loads(ran.stdout)["runs"][0]["tool"]["driver"]["rules"]
    for rule in rules:
        page = f"docs/codes.md#{rule['id'].lower()}"
        assert rule["help"]["text"] == f"{rule['fullDescription']['text']} See {page}."
        assert "Right:\n\n```yaml\n" in rule["help"]["markdown"]
        assert "\x1b" not in rule["help"]["markdown"]
    assert len(rules) > 70


def test_a_file_without_findings_is_still_whole_json(tf_cluster: Command, good: str) -> None:
    assert json.loads(tf_cluster("validate", "--format", "json", good).stdout)["findings"] == []
    sarif = json.loads(tf_cluster("validate", "--format", "sarif", good).stdout)
    assert sarif["runs"][0]["results"] == []


def test_values_go_to_stdout_and_words_to_stderr(tf_cluster: Command, good: str) -> None:
    ran = tf_cluster("generate", good)

    assert ran.returncode == 0
    assert ran.stdout.startswith("# Values for the chart tf-cluster")
    assert ran.stderr == ""


def test_a_file_with_findings_writes_no_values(
    tf_cluster: Command, bad: str, tmp_path: Path
) -> None:
    ran = tf_cluster("generate", bad, "-o", "values.yaml")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "TFC201" in ran.stderr
    assert not (tmp_path / "values.yaml").exists()


def test_stdin_and_file_make_the_same_values_but_for_their_name(
    tf_cluster: Command, good: str
) -> None:
    of_file = tf_cluster("generate", good).stdout
    of_stdin = tf_cluster("generate", "-", stdin=GOOD).stdout

    assert of_stdin == of_file.replace("a.params.yaml", "stdin")


def test_check_says_nothing_when_the_values_are_up_to_date(tf_cluster: Command, good: str) -> None:
    tf_cluster("generate", good, "-o", "values.yaml")

    ran = tf_cluster("generate", good, "-o", "values.yaml", "--check", "--diff")

    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


def test_check_exits_1_writes_nothing_and_names_the_command_that_helps(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    (tmp_path / "values.yaml").write_text("worker: {replicas: 9}\n")

    ran = tf_cluster("generate", good, "-o", "values.yaml", "--check")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "tf-cluster generate a.params.yaml -o values.yaml" in ran.stderr
    assert (tmp_path / "values.yaml").read_text() == "worker: {replicas: 9}\n"


def test_check_calls_standard_input_by_its_name(tf_cluster: Command) -> None:
    command = ("generate", "--check", "-", "-o", "values.yaml")

    text = tf_cluster(*command, stdin=GOOD).stderr
    github = tf_cluster(*command, "--format", "github", stdin=GOOD).stdout

    assert "values.yaml is not what <stdin> asks for. To write it:\n" in text
    assert "the values that <stdin> asks for are not there" in github


def test_check_tells_the_findings_of_a_file_that_has_no_values(
    tf_cluster: Command, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")

    ran = tf_cluster("generate", "--check", "-", "-o", "pipe", stdin=GOOD + "workers: 0\n")

    assert (ran.returncode, ran.stdout) == (1, "")
    assert "TFC205" in ran.stderr


def test_diff_shows_what_would_change_on_stdout(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    (tmp_path / "values.yaml").write_text("worker: {replicas: 9}")

    ran = tf_cluster("generate", good, "-o", "values.yaml", "--diff")

    assert ran.returncode == 1
    assert "-worker: {replicas: 9}\n\\ No newline at end of file\n" in ran.stdout
    assert "+fullnameOverride: a\n" in ran.stdout


def test_check_without_a_file_to_compare_with_is_a_usage_error(
    tf_cluster: Command,
) -> None:
    ran = tf_cluster("generate", "-", "--check", stdin=GOOD)

    assert ran.returncode == 2
    assert "name it with -o OUT" in ran.stderr


def test_a_failed_write_leaves_the_old_file_and_no_temporary(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    values = tmp_path / "out" / "values.yaml"
    values.write_text(OURS)
    (tmp_path / "sitecustomize.py").write_text(
        "import os\n"
        "def full(descriptor):\n    raise OSError(28, 'No space left on device')\n"
        "os.fsync = full\n"
    )

    ran = tf_cluster("generate", good, "-o", str(values), PYTHONPATH=str(tmp_path))

    assert ran.returncode == 2
    assert "can't be written: No space left on device" in ran.stderr
    assert values.read_text() == OURS
    assert [entry.name for entry in values.parent.iterdir()] == ["values.yaml"]


@pytest.mark.parametrize("output", ["a.params.yaml", "./x/../a.params.yaml", "link", "hard"])
@pytest.mark.parametrize("option", ["", "--force", "--check"])
def test_the_params_file_is_never_the_output(
    output: str, option: str, tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / good)
    (tmp_path / "hard").hardlink_to(tmp_path / good)

    ran = tf_cluster("generate", good, "-o", output, *([option] if option else []))

    assert (ran.returncode, ran.stdout) == (2, "")
    assert f"{output} is the params file itself" in ran.stderr
    assert (tmp_path / good).read_text() == GOOD


def test_a_file_of_someone_else_is_kept_beside_the_new_one(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    values = tmp_path / "values.yaml"
    values.write_text("worker: {replicas: 9}\n")

    ran = tf_cluster("generate", good, "-o", "values.yaml")

    assert (ran.returncode, ran.stdout) == (0, "")
    said = "values.yaml was not written by tf-cluster: kept as values.yaml.orig\n"
    assert ran.stderr == f"{said}{WROTE}"
    assert values.read_text().startswith("# Values")
    assert (tmp_path / "values.yaml.orig").read_text() == "worker: {replicas: 9}\n"


def test_an_earlier_copy_is_not_overwritten_and_force_makes_none(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    (tmp_path / "values.yaml").write_text("worker: {replicas: 9}\n")
    (tmp_path / "values.yaml.orig").write_text("first\n")

    assert tf_cluster("generate", good, "-o", "values.yaml").returncode == 0

    assert (tmp_path / "values.yaml.orig").read_text() == "first\n"
    assert (tmp_path / "values.yaml.orig.2").read_text() == "worker: {replicas: 9}\n"
    (tmp_path / "values.yaml").write_text("worker: {replicas: 8}\n")
    assert tf_cluster("generate", good, "-o", "values.yaml", "--force").returncode == 0
    assert not (tmp_path / "values.yaml.orig.3").exists()


@pytest.mark.parametrize("before", [OURS, ""])
def test_a_file_of_ours_or_an_empty_one_is_written_anew(
    before: str, tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    (tmp_path / "values.yaml").write_text(before)

    ran = tf_cluster("generate", good, "-o", "values.yaml")

    assert (ran.returncode, ran.stderr) == (0, WROTE)


def test_what_is_no_regular_file_is_never_replaced_by_one(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "pipe")

    ran = tf_cluster("generate", good, "-o", "pipe", "--force")

    assert (ran.returncode, ran.stdout) == (2, "")
    assert "pipe: can't be written: not a regular file (- is stdout)" in ran.stderr
    assert (tmp_path / "pipe").is_fifo()


def test_a_missing_output_directory_is_told(tf_cluster: Command, good: str) -> None:
    ran = tf_cluster("generate", good, "-o", "nowhere/values.yaml")

    assert ran.returncode == 2
    assert "nowhere/values.yaml: can't be written: No such file or directory" in ran.stderr


def test_writing_keeps_the_mode_and_a_symbolic_link(
    tf_cluster: Command, good: str, tmp_path: Path
) -> None:
    real = tmp_path / "real.yaml"
    real.write_text(OURS)
    real.chmod(0o640)
    link = tmp_path / "values.yaml"
    link.symlink_to(real)

    tf_cluster("generate", good, "-o", "values.yaml")

    assert link.is_symlink()
    assert real.read_text().startswith("# Values")
    assert real.stat().st_mode & 0o777 == 0o640


def test_init_writes_a_valid_file_of_that_name(tf_cluster: Command) -> None:
    ran = tf_cluster("init", "ctr.params.yaml", "--preset", "medium", "--module", "ctr.m:Net")
    values = tf_cluster("generate", "ctr.params.yaml")

    assert ran.returncode == values.returncode == 0
    assert "fullnameOverride: ctr\n" in values.stdout
    assert 'module: "ctr.m:Net"' in values.stdout
    assert "  replicas: 4\n" in values.stdout


def test_the_commented_lines_of_the_starter_are_valid_too(tf_cluster: Command) -> None:
    text = tf_cluster("init", "-").stdout
    lines = []
    for line in text.splitlines():
        bare = line.lstrip()
        if bare.startswith("# ") and (": " in bare or bare.endswith(":")) and "  #" in line + "  #":
            key = bare[2:].lstrip().partition(":")[0]
            known = "workers ps resources worker requests limits gpus flags units data log run "
            if key in (known + "batchSize optimizer checkpoint").split():
                lines.append(line.replace("# ", "", 1))
                continue
        lines.append(line)

    ran = tf_cluster("validate", "-", stdin="\n".join(lines))

    # the image is the one thing to replace
    assert [line.split(": ")[1] for line in ran.stdout.splitlines()] == ["TFC404"]
    assert sum("flags:" in line and not line.startswith("#") for line in lines) == 1


def test_the_next_command_is_told_after_writing(tf_cluster: Command) -> None:
    ran = tf_cluster("init", "my digits.params.yaml", "--name", "digits")

    assert ran.stderr == (
        "wrote my digits.params.yaml. Next: tf-cluster run 'my digits.params.yaml'\n"
    )


def test_a_stream_is_named_as_a_file_in_the_starter(tf_cluster: Command) -> None:
    ran = tf_cluster("init", "-")

    assert "tf-cluster generate training.params.yaml -o training.values.yaml" in ran.stdout
    assert ran.stderr == ""


def test_the_header_of_values_is_the_command_that_makes_them_again(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "params").mkdir()
    (tmp_path / "params" / "a.params.yaml").write_text(GOOD)
    tf_cluster("generate", "params/a.params.yaml", "-o", "a b.values.yaml")
    written = (tmp_path / "a b.values.yaml").read_text()
    command = written.splitlines()[3].removeprefix("# tf-cluster ")

    subprocess.run(
        (sys.executable, "-m", "tf_cluster", *shlex.split(command)),
        cwd=tmp_path / "params",
        check=True,
    )

    assert command == "generate a.params.yaml -o '../a b.values.yaml'"
    assert (tmp_path / "a b.values.yaml").read_text() == written
    whole = str(tmp_path / "params" / "a.params.yaml")
    assert tf_cluster("generate", whole, "-o", "a b.values.yaml", "--check").returncode == 0


def test_init_refuses_to_overwrite_without_force(tf_cluster: Command, tmp_path: Path) -> None:
    (tmp_path / "training.params.yaml").write_text("mine\n")

    assert tf_cluster("init").returncode == 2
    assert (tmp_path / "training.params.yaml").read_text() == "mine\n"
    assert tf_cluster("init", "--force").returncode == 0
    # A folder takes what init writes.
    assert tf_cluster("validate", ".").returncode == 0


def test_init_refuses_a_choice_that_would_not_be_valid(tf_cluster: Command, tmp_path: Path) -> None:
    named = tf_cluster("init", "--name", "My Model")
    preset = tf_cluster("init", "--preset", "smal")

    assert (named.returncode, preset.returncode) == (2, 2)
    assert "did you mean 'my-model'?" in named.stderr
    assert "'smal' is not one of 'small', 'medium', 'large'" in preset.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path, good: str) -> None:
    command = f"{sys.executable} -m tf_cluster generate {good} | head -c 1"
    ran = subprocess.run(
        ("bash", "-c", command), cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert "Traceback" not in ran.stderr


def test_output_bytes_do_not_depend_on_locale_or_hash_seed(tf_cluster: Command, good: str) -> None:
    one = tf_cluster("generate", good, PYTHONHASHSEED="1", LC_ALL="C", TZ="UTC").stdout
    two = tf_cluster("generate", good, PYTHONHASHSEED="2", LC_ALL="C.UTF-8", TZ="Asia/Tokyo").stdout

    assert one == two


def test_what_is_told_is_seen_at_once() -> None:
    """A verb that waits for minutes says meanwhile for what."""
    code = (
        "from tf_cluster.streams import use_streams; use_streams()\n"
        "from tf_cluster.cli.common import tell; tell('waiting')\n"
        "import sys; sys.stdin.read()\n"
    )
    command = (sys.executable, "-c", code)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, text=True) as process:
        assert process.stdin
        assert process.stderr
        assert process.stderr.readline() == "waiting\n"
        assert process.poll() is None
        process.stdin.close()
    assert process.returncode == 0
