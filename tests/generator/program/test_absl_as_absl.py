"""absl itself is the judge of arguments: each command line goes to it and to the tool."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tf_cluster.check import check
from tf_cluster.findings.finding import Finding

CODE = """\
import enum
from absl import app, flags

flags.DEFINE_bool("use_tpu", False, "")
flags.DEFINE_integer("steps", 1, "")
flags.DEFINE_float("lr", 0.1, "")
flags.DEFINE_string("name", "", "", short_name="n")
flags.DEFINE_enum("mode", "train", ["train", "eval"], "")
NETS = {"mlp": 1, "cnn": 2}
Mode = enum.Enum("Mode", "FAST SLOW")
flags.DEFINE_enum_class("how", Mode.FAST, Mode, "")
flags.DEFINE_enum("net", "mlp", list(NETS), "")
flags.DEFINE_integer("epochs", 1, "", lower_bound=1)
flags.DEFINE_float("decay", 0.5, "", -1, upper_bound=1.5)
flags.DEFINE_multi_integer("widths", 1, "", upper_bound=512)


def main(argv):
    pass


if __name__ == "__main__":
    app.run(main)
"""
GOOD = (
    [],
    ["train"],
    ["--use_tpu", "false", "--steps=5"],
    ["train", "-", "--mode=eval", "-n", "x"],
    ["train", "--", "--stepz=5", "--lr=abc"],
    ["--", "train", "--stepz=5"],
    ["--verbosity", "-1", "--steps=2", "-v", "-1"],
    ["--alsologtostderr", "train", "--steps", "2"],
    ["--name", "--stepz=5"],
    ["--name", "--", "--steps=1"],
    ["--undefok=stepz", "train", "--stepz=5"],
    ["train", "--stepz=5", "--undefok=stepz"],
    ["-=1", "--=x"],
    ["--net=cnn", "--epochs=1", "--decay=-1.0", "--widths=512", "--widths", "-9"],
    ["--decay=nan"],
    ["--how", "slow", "--steps=2"],
)
WRONG = (
    (["--use_tpu", "false", "--stepz=5"], ["TFC512"]),
    (["train", "--mode=eval", "--lr=abc"], ["TFC513"]),
    (["-", "--mode=evil"], ["TFC513"]),
    (["--v", "1", "--stepz=5"], ["TFC512"]),
    (["--v", "-1", "--stepz=5"], ["TFC512"]),
    (["--alsologtostderr", "train", "--lr", "x"], ["TFC513"]),
    (["train", "--steps"], ["TFC513"]),
    (["---steps=3"], ["TFC512"]),
    (["--noname", "train"], ["TFC512"]),
    (["train", "--nouse_tpu=1"], ["TFC513"]),
    (["--net=rnn"], ["TFC513"]),
    (["--how=slow", "--nets=cnn"], ["TFC512"]),
    (["--epochs=0"], ["TFC513"]),
    (["--decay=-1.1"], ["TFC513"]),
    (["--decay", "inf"], ["TFC513"]),
    (["--widths=1", "--widths=513"], ["TFC513"]),
)


def findings(folder: Path, code: str, args: list[str], *beside: str) -> tuple[Finding, ...]:
    (folder / "train.py").write_text(code)
    files = ["train.py", *beside]
    program = {"script": "train.py", "args": args, "source": {"files": files}}
    text = yaml.safe_dump({"name": "a", "image": "r/i:1", "program": program})
    return check("p.yaml", text.encode(), folder=folder).findings


def told(folder: Path, code: str, args: list[str], *beside: str) -> list[str]:
    return sorted({one.code for one in findings(folder, code, args, *beside)})


def is_refused(folder: Path, code: str, args: list[str]) -> bool:
    (folder / "train.py").write_text(code)
    command = [sys.executable, str(folder / "train.py"), *args]
    return subprocess.run(command, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize(("args", "codes"), [*((args, []) for args in GOOD), *WRONG])
def test_absl_itself_is_the_judge_of_arguments(
    args: list[str], codes: list[str], tmp_path: Path
) -> None:
    assert told(tmp_path, CODE, args) == codes
    assert is_refused(tmp_path, CODE, args) == bool(codes)


def test_two_arguments_in_one_are_told_with_the_way_to_write_them(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)
    fixes = {"--lr 0.1": "two arguments: '--lr', '0.1'", "--use_tpu false": "--use_tpu=false"}
    for arg, fix in fixes.items():
        program = {"script": "train.py", "args": [arg], "source": {"files": ["train.py"]}}
        text = yaml.safe_dump({"name": "a", "image": "r/i:1", "program": program})

        (one,) = check("p.yaml", text.encode(), folder=tmp_path).findings

        assert one.words.endswith(f"(write {fix})")
        assert is_refused(tmp_path, CODE, [arg])


def test_a_program_that_stops_at_other_arguments_is_read_no_further(tmp_path: Path) -> None:
    code = CODE.replace("    app.run", "    flags.FLAGS.set_gnu_getopt(False)\n    app.run")
    args = ["train", "--stepz=5"]

    assert told(tmp_path, code, args) == []
    assert told(tmp_path, code, ["--stepz=5", "train"]) == ["TFC512"]
    assert not is_refused(tmp_path, code, args)


def test_a_flag_that_has_to_be_there_is_looked_for_behind_other_arguments(tmp_path: Path) -> None:
    code = CODE.replace('"name", ""', '"name", None').replace(
        "    app.run", '    flags.mark_flag_as_required("name")\n    app.run'
    )

    for args in (["train"], ["train", "--", "--name=x"]):
        assert told(tmp_path, code, args) == ["TFC514"]
        assert is_refused(tmp_path, code, args)
    for args in (["train", "--name=x"], ["--name=x", "--", "train"]):
        assert told(tmp_path, code, args) == []
        assert not is_refused(tmp_path, code, args)


def test_a_run_of_another_kind_is_read_to_the_first_argument_alone(tmp_path: Path) -> None:
    code = CODE.replace("app.run(main)", "app.run(main, flags_parser=lambda argv: argv)")

    assert told(tmp_path, code, ["train", "--lr=abc"]) == []


def test_tensorflows_run_reads_on_and_passes_over_what_it_does_not_know(tmp_path: Path) -> None:
    code = CODE.replace("from absl import app, flags", "import tensorflow.compat.v1 as tf\n")
    code = code.replace("flags.D", "tf.flags.D").replace("app.run", "tf.app.run")

    assert told(tmp_path, code, ["train", "--stepz", "5", "-3", "--steps=5"]) == []
    assert told(tmp_path, code, ["train", "--stepz", "5", "--lr=abc"]) == ["TFC513"]


def test_a_required_flag_with_a_default_need_not_be_given(tmp_path: Path) -> None:
    code = CODE.replace("    app.run", '    flags.mark_flag_as_required("steps")\n    app.run')

    assert told(tmp_path, code, []) == []
    assert not is_refused(tmp_path, code, [])


TRACE = 'from absl import flags\n\nflags.DEFINE_bool("trace", False, "")\n'


@pytest.mark.parametrize("how", ["import {}", "from {} import flags as _", "import {} as _"])
@pytest.mark.parametrize("name", ["profile", "queue", "trace"])
def test_a_module_by_the_name_of_one_of_pythons_own_may_be_the_programs(
    name: str, how: str, tmp_path: Path
) -> None:
    (tmp_path / f"{name}.py").write_text(TRACE)
    code = how.format(name) + "\n" + CODE
    args = ["--steps=3", "--trace"]

    assert told(tmp_path, code, args, f"{name}.py") == []
    assert not is_refused(tmp_path, code, args)


@pytest.mark.parametrize("name", ["sys", "time", "os", "io"])
def test_what_python_has_before_it_looks_for_the_program_is_pythons(
    name: str, tmp_path: Path
) -> None:
    (tmp_path / f"{name}.py").write_text(TRACE)
    code = f"import {name}\n" + CODE

    assert told(tmp_path, code, ["--trace"], f"{name}.py") == ["TFC512"]
    assert is_refused(tmp_path, code, ["--trace"])


def test_a_module_of_pythons_alone_hides_nothing(tmp_path: Path) -> None:
    code = "import profile, queue, json\n" + CODE

    assert told(tmp_path, code, ["--trace"]) == ["TFC512"]


def test_an_argparse_of_the_programs_own_is_not_judged(tmp_path: Path) -> None:
    (tmp_path / "argparse.py").write_text(
        "class ArgumentParser:\n    def add_argument(*_): ...\n    parse_args = add_argument\n"
    )
    code = "import argparse\np = argparse.ArgumentParser()\np.add_argument('-a')\np.parse_args()\n"

    assert told(tmp_path, code, ["--b"], "argparse.py") == []
    assert not is_refused(tmp_path, code, ["--b"])


@pytest.mark.parametrize("name", ["log_dir", "v", "verbosity", "pdb", "stderrthreshold"])
def test_a_flag_that_absl_has_itself_is_refused(name: str, tmp_path: Path) -> None:
    code = CODE.replace("def main", f"flags.DEFINE_string({name!r}, '', '')\n\n\ndef main")

    assert told(tmp_path, code, ["--steps=3"]) == ["TFC517"]
    assert is_refused(tmp_path, code, ["--steps=3"])


@pytest.mark.parametrize("name", ["test_srcdir", "flagfile_of_ours", "logs"])
def test_a_flag_of_another_name_is_not(name: str, tmp_path: Path) -> None:
    code = CODE.replace("def main", f"flags.DEFINE_string({name!r}, '', '')\n\n\ndef main")

    assert told(tmp_path, code, ["--steps=3"]) == []
    assert not is_refused(tmp_path, code, ["--steps=3"])


def test_without_absls_app_its_logging_has_no_flags(tmp_path: Path) -> None:
    code = "import sys\nfrom absl import flags\nflags.DEFINE_string('log_dir', '', '')\n"
    code += "flags.FLAGS(sys.argv)\n"

    assert told(tmp_path, code, ["--log_dir=/x"]) == []
    assert not is_refused(tmp_path, code, ["--log_dir=/x"])


@pytest.mark.parametrize(
    ("bounds", "value", "needed"),
    [
        ("lower_bound=1", "0", "a whole number of at least 1"),
        ("upper_bound=9", "10", "a whole number of at most 9"),
        ("lower_bound=-1, upper_bound=9", "x", "a whole number from -1 to 9"),
    ],
)
def test_a_number_beyond_its_bounds_is_told_with_them(
    bounds: str, value: str, needed: str, tmp_path: Path
) -> None:
    code = CODE.replace('"steps", 1, ""', f'"steps", 1, "", {bounds}')

    (finding,) = findings(tmp_path, code, [f"--steps={value}"])

    assert finding.message == f'--steps is "{value}", not {needed} (train.py:5)'
    assert is_refused(tmp_path, code, [f"--steps={value}"])
