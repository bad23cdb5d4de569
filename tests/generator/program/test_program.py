"""Where a program's code is looked for, how sure a finding is, and what --explain says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tf_cluster.check import check

from tests.generator.conftest import Command

HOOKS = "    def build_model(self, ctx): ...\n    def dataset(self, ctx, input_context): ...\n"
CODE = f"from tf_cluster_trainer import Program\n\n\nclass Net(Program):\n{HOOKS}"
DIGITS = "tf_cluster_trainer.examples.digits"


def found(folder: Path, program: str, rest: str = "", *, for_cluster: bool = True) -> list[str]:
    text = f"name: a\nimage: r/i:1\nprogram: {program}\n{rest}"
    findings = check("p.yaml", text.encode(), folder=folder, for_cluster=for_cluster).findings
    return [f"{one.severity} {one.code}: {one.words}" for one in findings]


NO_CLASS = "TFC503: train.py has no Nett; its programs: Net (did you mean 'train:Net', train.py:4?)"


@pytest.mark.parametrize(
    ("program", "severity"),
    [
        ("{module: 'train:Nett', source: {files: [train.py]}}", "error"),
        ("{module: 'train:Nett'}", "warning"),
        ("{module: 'train:Nett', path: /data/code}", "warning"),
    ],
)
def test_a_finding_on_code_that_may_be_a_copy_is_a_warning(
    program: str, severity: str, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(CODE)

    assert found(tmp_path, program) == [f"{severity} {NO_CLASS}"]


def test_a_local_run_takes_the_code_beside_the_params_file(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(CODE)

    lines = found(tmp_path, "{module: 'train:Nett', path: src}", for_cluster=False)

    assert lines == [f"error {NO_CLASS.replace('train.py', 'src/train.py')}"]


def test_an_installed_program_is_read_where_it_is_installed(tmp_path: Path) -> None:
    program = f"{{module: '{DIGITS}:Digits'}}"
    place = "tf_cluster_trainer/examples/digits.py"

    assert found(tmp_path, program, "flags: {units: 3}\n") == []
    (line,) = found(tmp_path, program, "flags: {layers: 3}\n")

    assert line.startswith(f"error TFC507: flags.layers is no flag of DigitsFlags ({place}:")


def test_a_module_that_an_installed_package_lacks_is_told(tmp_path: Path) -> None:
    (line,) = found(tmp_path, f"{{module: '{DIGITS}s:Digits'}}")

    assert line == (
        f"error TFC502: there is no module {DIGITS}s: package tf_cluster_trainer has none "
        f"(did you mean '{DIGITS}:Digits'?)"
    )


@pytest.mark.parametrize(
    "program",
    [
        "{module: 'elsewhere.models:Net'}",
        "{module: 'json:Net'}",
        "{module: 'train:Nett', source: {url: 'https://e.com/c.zip', sha256: '%s'}}" % ("ab" * 32),
        "{module: 'train:Nett', source: {git: 'https://e.com/c.git', commit: '%s'}}" % ("a" * 40),
        "{script: /data/elsewhere/other.py, args: [--x]}",
    ],
)
def test_code_that_is_elsewhere_is_not_guessed(program: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(CODE)

    assert found(tmp_path, program) == []


def test_an_empty_file_is_read_and_one_with_a_finding_is_not(tmp_path: Path) -> None:
    (tmp_path / "nets").mkdir()
    (tmp_path / "nets/__init__.py").write_text("")
    (tmp_path / "nets/train.py").write_text(CODE)
    program = "{module: 'nets.train:Nett', source: {files: [nets/__init__.py, nets/train.py]}}"
    told = NO_CLASS.replace("train.py", "nets/train.py").replace("'train:", "'nets.train:")

    assert found(tmp_path, program) == [f"error {told}"]
    (tmp_path / "nets/__init__.py").unlink()
    assert [line[:13] for line in found(tmp_path, program)] == ["error TFC324:"]


def test_one_mistake_in_a_flag_is_one_finding(tmp_path: Path) -> None:
    flags = "@dataclass(frozen=True)\nclass F:\n    words: str\n\n\n"
    code = "from dataclasses import dataclass\n" + CODE.replace("class Net", f"{flags}class Net")
    (tmp_path / "train.py").write_text(code + "    flags = F\n")
    program = "{module: 'train:Net', source: {files: [train.py]}}"

    assert found(tmp_path, program, "flags: {word: x}\n") == [
        "error TFC507: flags.word is no flag of F (train.py:6) (did you mean words, train.py:7?)"
    ]
    assert found(tmp_path, program, "flags: {other: x}\n") == [
        "error TFC510: flags.words is missing: a text (train.py:7) "
        "(add words: …; it has no default)",
        "error TFC507: flags.other is no flag of F (train.py:6) (its flags: words)",
    ]
    assert found(tmp_path, program, "flags: {words: yes}\n") == [
        "error TFC106: flags.words is yes: Helm reads it as true "
        "(write true, or 'yes' in quotes for the text)"
    ]


def test_a_flags_class_that_is_not_frozen_hides_nothing(tmp_path: Path) -> None:
    flags = (
        "@dataclass\nclass F:\n    words: str\n    units: int = 4\n"
        "    size: Literal['small', 'large'] = 'small'\n    rate: float = 'x'\n\n\n"
    )
    imports = "from dataclasses import dataclass\nfrom typing import Literal\n"
    code = imports + CODE.replace("class Net", f"{flags}class Net") + "    flags = F\n"
    program = "{module: 'train:Net', source: {files: [train.py]}}"
    wrong = "flags: {units: many, size: huge, other: x}\n"

    (tmp_path / "train.py").write_text(code)
    told = [line.split(":")[0] for line in found(tmp_path, program, wrong)]
    (tmp_path / "train.py").write_text(code.replace("@dataclass\n", "@dataclass(frozen=True)\n"))
    frozen = [line.split(":")[0] for line in found(tmp_path, program, wrong)]

    assert sorted(frozen) == [f"error TFC{code}" for code in (506, 507, 508, 509, 510)]
    assert sorted(told) == ["error TFC506", *sorted(frozen)]


CANT = "error TFC506: Python can't define F: "


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            "a: int = 1; b: int",
            "b has no default and stands after a, which has one (train.py:5) "
            "(write it first, or @dataclass(frozen=True, kw_only=True))",
        ),
        (
            "a: list[int] = []",
            "the default of a is [], which can be changed (train.py:4) "
            "(write field(default_factory=list))",
        ),
        (
            "a: list[int] = [1, 2]",
            "the default of a is [1, 2], which can be changed (train.py:4) "
            "(write field(default_factory=lambda: …))",
        ),
        ("a: int = field(3)", "a is made by field(3) (train.py:4) (write field(default=…))"),
        (
            "a: int = field(defualt=3)",
            "field has no option defualt (train.py:4) (leave it out)",
        ),
    ],
)
def test_a_flags_class_that_python_refuses_is_told(fields: str, told: str, tmp_path: Path) -> None:
    imports = "from dataclasses import *; from tf_cluster_trainer import Program\n"
    lines = "".join(f"    {one.strip()}\n" for one in fields.split(";"))
    code = f"{imports}@dataclass(frozen=True)\nclass F:\n{lines}"
    code = code.replace("*", "dataclass, field")
    (tmp_path / "train.py").write_text(f"{code}class Net(Program):\n{HOOKS}    flags = F\n")
    program = "{module: 'train:Net', source: {files: [train.py]}}"

    assert found(tmp_path, program) == [CANT + told]
    assert [one[:13] for one in found(tmp_path, program, "flags: {a: x, c: 1}\n")] == [
        "error TFC506:",
        "error TFC508:",
        "error TFC507:",
    ]


def test_one_mistake_in_a_field_is_one_finding(tmp_path: Path) -> None:
    fields = "@dataclass(frozen=True)\nclass F:\n    words: str = []\n\n\n"
    code = "from dataclasses import dataclass\n" + CODE.replace("class Net", f"{fields}class Net")
    (tmp_path / "train.py").write_text(code + "    flags = F\n")

    assert found(tmp_path, "{module: 'train:Net', source: {files: [train.py]}}") == [
        "error TFC506: the default of F.words is [], not a text (train.py:7)"
    ]


def test_a_class_of_flags_that_stands_as_a_type_alone_is_told(tmp_path: Path) -> None:
    fields = "@dataclass(frozen=True)\nclass F:\n    units: int = 1\n\n\n"
    code = "from dataclasses import dataclass\n" + CODE.replace("class Net", f"{fields}class Net")
    (tmp_path / "train.py").write_text(code + "    flags: F\n")
    program = "{module: 'train:Net', source: {files: [train.py]}}"

    told = found(tmp_path, program, "flags: {unit: 1}\n")
    line = len((code + "    flags: F\n").splitlines())

    assert told == [
        "error TFC506: Net has the line flags: F, which gives flags no value "
        f"(train.py:{line}) (write flags = F)"
    ]


@pytest.mark.parametrize(
    ("code", "args", "told"),
    [
        ("p.add_argument('--a', required=True)", ["--help"], []),
        ("p.add_argument('-v', action='store_true')", ["-vq"], ["TFC512"]),
        (
            "p.add_argument('--x', type=float)\np.add_argument('n', nargs='*')",
            ["--x", "-3", "y"],
            [],
        ),
        (
            "g = p.add_mutually_exclusive_group(required=True)\n"
            "g.add_argument('--a', action='store_true')\ng.add_argument('--b', type=int)",
            ["--a", "--b=1"],
            ["TFC513"],
        ),
        (
            "g = p.add_mutually_exclusive_group(required=True)\n"
            "g.add_argument('--a', action='store_true')\ng.add_argument('--b', type=int)",
            [],
            ["TFC514"],
        ),
        ("p.add_argument('--steps')\np.add_argument('--stop')", ["--st=3"], ["TFC513"]),
        ("p.add_argument('--a', nargs=2)", ["--a", "1"], ["TFC513"]),
        ("p.add_argument('--a', action='store_true')", ["--a=1"], ["TFC513"]),
        (
            "p.add_argument('--a', type=int)\np.add_argument('--b')",
            ["--a=x", "--c"],
            ["TFC512", "TFC513"],
        ),
    ],
)
def test_argparse_itself_is_the_judge_of_arguments(
    code: str, args: list[str], told: list[str], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(
        f"import argparse\np = argparse.ArgumentParser()\n{code}\np.parse_args()\n"
    )
    program = f"{{script: train.py, args: {args!r}, source: {{files: [train.py]}}}}"

    lines = found(tmp_path, program)

    assert sorted(line.split()[1].rstrip(":") for line in lines) == told


@pytest.mark.parametrize("how", ["self.evaluate = self.other", "setattr(self, 'evaluate', 3)"])
def test_a_hook_that_an_instance_sets_is_not_guessed(how: str, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{CODE}    def __init__(self):\n        {how}\n")
    best = "evaluator: {exportBest: {metric: b, mode: max}}\n"

    assert found(tmp_path, "{module: 'train:Net', source: {files: [train.py]}}", best) == []


@pytest.mark.parametrize(
    ("start", "sys"),
    [("import sys", "sys"), ("import sys as _sys", "_sys"), ("import os, sys as s", "s")],
)
def test_a_class_that_the_module_sets_on_itself_is_not_missed(
    start: str, sys: str, tmp_path: Path
) -> None:
    program = "{module: 'train:Other', source: {files: [train.py]}}"
    (tmp_path / "train.py").write_text(f"{start}\n{CODE}")
    assert "TFC503" in found(tmp_path, program)[0]

    (tmp_path / "train.py").write_text(
        f"{start}\n{CODE}\n\nsetattr({sys}.modules[__name__], 'Other', Net)\n"
    )
    assert found(tmp_path, program) == []


def test_explain_says_what_was_read_and_what_can_not_be_known(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(
        CODE + "    def evaluate(self, ctx, model):\n        return model.evaluate()\n"
    )
    (tmp_path / "p.yaml").write_text(
        "name: a\nimage: r/i:1\nprogram: {module: 'train:Net', source: {files: [train.py]}}\n"
        "evaluator: {exportBest: {metric: loss, mode: min}}\n"
    )

    ran = tf_cluster("validate", "--explain", "p.yaml")

    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr.splitlines() == [
        "p.yaml: not checked: imports (image r/i may have any package)",
        "p.yaml: read: class Net (train.py:4)",
        "p.yaml: not checked: flags (Net declares none, so any are good)",
        "p.yaml: not checked: the metric of exportBest (train.py:8: what it calls)",
        "1 file checked: good",
    ]
    assert tf_cluster("validate", "p.yaml").stderr == "1 file checked: good\n"


def test_run_and_generate_refuse_before_they_do_anything(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "p.yaml").write_text(
        f"name: a\nimage: r/i:1\nprogram: {{module: '{DIGITS}:Digit'}}\n"
    )

    for command in (("run", "p.yaml"), ("generate", "p.yaml", "-o", "v.yaml")):
        ran = tf_cluster(*command)
        assert ran.returncode == 1
        assert "TFC503: tf_cluster_trainer/examples/digits.py has no Digit" in ran.stderr

    assert [path.name for path in tmp_path.iterdir()] == ["p.yaml"]


def test_a_finding_has_its_place_in_the_code_for_programs_too(
    tf_cluster: Command, tmp_path: Path
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(CODE)
    (tmp_path / "p.yaml").write_text(
        "name: a\nimage: r/i:1\n"
        "program: {module: 'src.train:Nett', source: {files: [src/train.py]}}\n"
    )

    document = json.loads(tf_cluster("validate", "p.yaml", "--format", "json").stdout)

    (finding,) = document["findings"]
    assert finding["line"] == 3
    assert finding["related"] == [{"file": "src/train.py", "line": 4}]


NETS = "{module: 'nets.train:Net', source: {files: [nets/__init__.py, nets/train.py]}}"


def _of_nets(folder: Path, code: str, package: str = "") -> list[str]:
    (folder / "nets").mkdir()
    (folder / "nets" / "__init__.py").write_text(package)
    (folder / "nets" / "train.py").write_text(code)
    return found(folder, NETS)


@pytest.mark.parametrize(
    "line", ["from .layers import Dense", "from nets.layers import Dense", "import nets.layers"]
)
def test_a_module_that_was_forgotten_is_told(line: str, tmp_path: Path) -> None:
    assert _of_nets(tmp_path, f"'Text.'\nimport os\n{line}\n{CODE}") == [
        "error TFC502: there is no module nets.layers, which nets/train.py:3 imports: "
        "package nets has none (add its file to program.source.files)"
    ]


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    from .layers import Dense\nexcept ImportError:\n    Dense = None\n",
        "def late():\n    from .layers import Dense\n",
        "import os\nif os.environ.get('A'):\n    from .layers import Dense\n",
        "import os\nos.system('make')\nfrom .layers import Dense\n",
        "import sys\nsys.modules['nets.layers'] = sys\nfrom .layers import Dense\n",
        "import elsewhere.layers\nimport tensorflow.nothing\nimport json.nothing\n",
    ],
)
def test_a_module_that_may_be_there_is_not_told(code: str, tmp_path: Path) -> None:
    assert _of_nets(tmp_path, code + CODE) == []


def test_a_package_that_looks_elsewhere_for_its_modules_lacks_none(tmp_path: Path) -> None:
    package = "__path__.append('/data/nets')\n"

    assert _of_nets(tmp_path, f"from .layers import Dense\n{CODE}", package) == []
