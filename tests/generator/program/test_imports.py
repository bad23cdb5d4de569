"""What a program surely imports, and Python will not find among its files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tf_cluster.check import check
from tf_cluster.params.beside import Given

STOCK, OWN = "r/tf-cluster-trainer:1", "r/team/own:1"
X = "x = 1\n"


def told(
    folder: Path, named: dict[str, str], beside: dict[str, str], image: str = STOCK, rest: str = ""
) -> list[str]:
    for name, text in (named | beside).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    checked = check("p.yaml", params(named, image, rest), folder=folder)
    return [f"{one.severity} {one.code}: {one.words}" for one in checked.findings]


def params(named: dict[str, str], image: str = STOCK, rest: str = "") -> bytes:
    files = ", ".join(named)
    program = f"program: {{script: train.py, source: {{files: [{files}]}}}}\n"
    return f"name: a\nimage: {image}\nstrategy: all-reduce\n{program}{rest}".encode()


def refused(folder: Path, named: dict[str, str]) -> str:
    """What Python says of the program's files alone, in its last line."""
    for name, text in named.items():
        (folder / "there" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "there" / name).write_text(text)
    command = (sys.executable, str(folder / "there" / "train.py"))
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    return (ran.stderr.splitlines() or [""])[-1]


NETS = {"train.py": "from nets import model\n", "nets/__init__.py": ""}
FORGOTTEN = {
    "a sibling": ({"train.py": "import utils\n"}, ["utils.py"]),
    "a name of a sibling": ({"train.py": "from utils import x\n"}, ["utils.py"]),
    "a sibling of a sibling": (
        {"train.py": "import model\n", "model.py": "import layers\n"},
        ["layers.py"],
    ),
    "below the main guard": (
        {"train.py": "if __name__ == '__main__':\n    import utils\n"},
        ["utils.py"],
    ),
    "a package": ({"train.py": "import nets.model\n"}, ["nets/__init__.py", "nets/model.py"]),
    "a package of one file": ({"train.py": "import nets\n"}, ["nets/__init__.py"]),
    "three modules of a package": (
        {"train.py": "from nets import model, losses\n"},
        ["nets/__init__.py", "nets/model.py", "nets/losses.py"],
    ),
    "a namespace package": ({"train.py": "from nets import model\n"}, ["nets/model.py"]),
    "a module of a package": (NETS, ["nets/model.py"]),
    "a module that the package itself takes": (
        {"train.py": "import nets\n", "nets/__init__.py": "from . import model\n"},
        ["nets/model.py"],
    ),
    "a module beside one in a package": (
        NETS | {"nets/model.py": "from .losses import x\n"},
        ["nets/losses.py"],
    ),
    "a module of a namespace package": (
        {"train.py": "import nets.model, nets.data\n", "nets/model.py": ""},
        ["nets/data.py"],
    ),
    "after what does no harm": (
        {
            "train.py": "import logging, os\nlog = logging.getLogger('a')\nlog.info('b')\n"
            "os.environ.setdefault('A', 'b')\nif os.getenv('A'):\n    print('c')\n"
            "try:\n    import nothing_of_it\nexcept ImportError:\n    pass\nimport utils\n"
        },
        ["utils.py"],
    ),
}


@pytest.mark.parametrize("case", FORGOTTEN)
def test_a_file_that_was_forgotten_is_named(case: str, tmp_path: Path) -> None:
    named, forgotten = FORGOTTEN[case]
    beside = dict.fromkeys(forgotten, X)

    (line,) = told(tmp_path, named, beside)

    assert line.startswith("error TFC502: ")
    files = " and ".join(filter(None, [", ".join(forgotten[:-1]), forgotten[-1]]))
    assert f"(add {files} to program.source.files)" in line
    assert "Error: " in refused(tmp_path, named)
    assert told(tmp_path, named | beside, {}) == []


def test_an_image_of_ones_own_may_have_it(tmp_path: Path) -> None:
    assert told(tmp_path, {"train.py": "import utils\n"}, {"utils.py": X}, OWN) == [
        "warning TFC502: train.py:1 imports utils, but utils.py is not among the files "
        "(add utils.py to program.source.files, unless the image has it)"
    ]


@pytest.mark.parametrize(
    ("code", "rest"),
    [
        ("try:\n    import utils\nexcept ImportError:\n    pass\n", ""),
        ("def late():\n    import utils\n", ""),
        ("import os\nif os.getenv('A'):\n    import utils\n", ""),
        ("import sys\nsys.path.append('/data')\nimport utils\n", ""),
        ("import utils\n", "extraValues: {pod: {extraEnv: [{name: PYTHONPATH, value: /lib}]}}\n"),
        ("import os\nos.system('make utils')\nimport utils\n", ""),
        ("import sys\nif len(sys.argv) < 2:\n    sys.exit(2)\nimport utils\n", ""),
        ("import numpy, json\n", ""),
    ],
)
def test_what_may_not_run_or_may_be_elsewhere_is_not_told(
    code: str, rest: str, tmp_path: Path
) -> None:
    beside = {"utils.py": X, "numpy.py": X, "json.py": X}

    for image in (STOCK, OWN):
        assert told(tmp_path, {"train.py": code}, beside, image, rest) == []


def test_a_folder_of_data_is_no_package(tmp_path: Path) -> None:
    assert told(tmp_path, {"train.py": "import datasets\n"}, {"datasets/a.csv": "1"}, OWN) == []


def test_a_link_out_of_the_folder_is_no_file_that_was_forgotten(tmp_path: Path) -> None:
    (tmp_path / "utils.py").write_text(X)
    folder = tmp_path / "checkout"
    folder.mkdir()
    (folder / "utils.py").symlink_to("../utils.py")

    assert told(folder, {"train.py": "import utils\n"}, {}, OWN) == []


def test_files_that_a_program_gives_are_looked_at_by_name(tmp_path: Path) -> None:
    texts = {"train.py": "import utils\nimport others\n", "utils.py": X}
    (tmp_path / "others.py").write_text(X)
    file = params({"train.py": ""}, OWN)

    checked = check("p.yaml", file, folder=Given(texts))

    assert ["utils.py" in one.message for one in checked.findings] == [True]
    assert check("p.yaml", file, folder=Given(texts.get)).findings == ()


@pytest.mark.parametrize(
    ("package", "line", "is_told"),
    [
        ("", "from nets import losses", True),
        ("def losess(): ...\n", "from nets import losses", True),
        ("losses = 1\n", "from nets import losses", False),
        ("def __getattr__(name): ...\n", "from nets import losses", False),
        ("globals()['losses'] = 1\n", "from nets import losses", False),
        ("try:\n    losses = 1\nfinally:\n    pass\n", "from nets import losses", False),
        ("from os.path import *\n", "from nets import join", False),
        ("", "from nets import __path__, __name__", False),
        ("", "import nets; nets.losses = 1; from nets import losses", False),
        ("", "import nets; setattr(nets, 'losses', 1); from nets import losses", False),
    ],
)
def test_a_name_that_a_module_has_not_is_told(
    package: str, line: str, is_told: bool, tmp_path: Path
) -> None:
    named = {"train.py": f"{line}\n", "nets/__init__.py": package}

    found = told(tmp_path, named, {})

    fails = "ImportError: cannot import name" in refused(tmp_path, named)
    assert fails == is_told
    assert (len(found) == 1) == is_told
    assert all("TFC502: nets/__init__.py has no " in one for one in found)


@pytest.mark.parametrize(
    "change",
    [
        "import sys; sys.path.insert(0, sys.argv[0] + '.d')",
        "import sys as system; system.path.insert(0, system.argv[0] + '.d')",
        "from sys import argv, path; path.insert(0, argv[0] + '.d')",
        "import sys; sys.path = [sys.argv[0] + '.d', *sys.path]",
        "import sys; sys.path[:0] = [sys.argv[0] + '.d']",
    ],
)
@pytest.mark.parametrize("line", ["from nets import losses", "import nets.losses"])
def test_a_package_may_be_another_one_where_the_path_is_changed(
    change: str, line: str, tmp_path: Path
) -> None:
    named = {"train.py": f"{change}\n{line}\n", "nets/__init__.py": ""}
    other = {"train.py.d/nets/__init__.py": "", "train.py.d/nets/losses.py": ""}

    assert told(tmp_path, named, {}) == []
    assert refused(tmp_path, named | other) == ""
    assert len(told(tmp_path, named | {"train.py": f"{line}\n{change}\n"}, {})) == 1


RELATIVE = {
    "from . import model": "import model",
    "from .utils import x as y, z": "from utils import x as y, z",
    "from .a.b import c": "from a.b import c",
    "from .utils import *": "",
    "from ..utils import x": "",
}


@pytest.mark.parametrize("line", RELATIVE)
def test_a_relative_import_in_a_script_is_told(line: str, tmp_path: Path) -> None:
    named = {"train.py": f"import os\n{line}\n", "utils.py": X}
    instead = f" (write `{RELATIVE[line]}`)" if RELATIVE[line] else ""

    assert told(tmp_path, named, {}) == [
        f"error TFC518: `{line}` always fails: train.py:2 is in no package{instead}"
    ]
    assert "attempted relative import with no known parent" in refused(tmp_path, named)


@pytest.mark.parametrize(
    ("named", "is_told"),
    [
        ({"train.py": "import model\n", "model.py": "from .utils import x\n"}, True),
        ({"train.py": "import model\n", "model/__init__.py": "from .utils import x\n"}, False),
        ({"train.py": "import a.b\n", "a/b.py": "from .c import x\n", "a/c.py": X}, False),
        ({"train.py": "import a.b\n", "a/b.py": "from ..c import x\n", "a/c.py": X}, True),
        ({"train.py": "try:\n    from .u import x\nexcept ImportError:\n    pass\n"}, False),
        ({"train.py": "def f():\n    from .u import x\n"}, False),
    ],
)
def test_a_relative_import_is_told_where_there_is_no_package(
    named: dict[str, str], is_told: bool, tmp_path: Path
) -> None:
    named |= {"model/utils.py": X} if "model/__init__.py" in named else {}

    found = told(tmp_path, named, {})

    assert [one.partition(":")[0] for one in found] == ["error TFC518"] * is_told
    assert ("attempted relative import" in refused(tmp_path, named)) == is_told


def test_a_relative_import_in_the_module_of_the_class_is_told(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "from tf_cluster_trainer import Program\nfrom .utils import x\n\n\n"
        "class Net(Program):\n"
        "    def build_model(self, ctx): ...\n    def dataset(self, ctx, i): ...\n"
    )
    (tmp_path / "utils.py").write_text(X)
    file = params({"train.py": "", "utils.py": ""})
    file = file.replace(b"script: train.py", b"module: 'train:Net'")

    (finding,) = check("p.yaml", file, folder=tmp_path).findings

    assert (finding.code, finding.severity) == ("TFC518", "error")
    assert finding.words.endswith("(write `from utils import x`)")


@pytest.mark.parametrize(("image", "severity"), [(STOCK, "error"), (OWN, "warning")])
@pytest.mark.parametrize(
    ("name", "file", "path", "fix"),
    [
        ("train", "src/train.py", ".", "'src.train:Net', or program.path: src"),
        (
            "nets.train",
            "s/a/nets/train.py",
            ".",
            "'s.a.nets.train:Net', or program.path: s/a",
        ),
        ("nets", "src/nets/__init__.py", ".", "'src.nets:Net', or program.path: src"),
        ("train", "lib/src/train.py", "lib", "'src.train:Net', or program.path: lib/src"),
    ],
)
def test_a_module_in_a_folder_of_the_files_is_named(
    name: str, file: str, path: str, fix: str, image: str, severity: str, tmp_path: Path
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(
        "from tf_cluster_trainer import Program\n\n\nclass Net(Program):\n"
        "    def build_model(self, ctx): ...\n    def dataset(self, ctx, i): ...\n"
    )

    def found(module: str, path: str, rest: str = "") -> list[str]:
        program = f"{{module: '{module}:Net', path: '{path}', source: {{files: [{file}]}}}}"
        text = f"name: a\nimage: {image}\nprogram: {program}\n{rest}"
        findings = check("p.yaml", text.encode(), folder=tmp_path).findings
        return [f"{one.severity} {one.code}: {one.words}" for one in findings]

    assert found(name, path) == [
        f"{severity} TFC502: there is no module {name} among program.source.files "
        f"(did you mean {fix}?)"
    ]
    assert found(fix.split(":")[0].strip("'"), path) == []
    assert found(name, fix.rpartition(" ")[2]) == []
    paths = "extraValues: {pod: {extraEnv: [{name: PYTHONPATH, value: /code/src}]}}\n"
    assert found(name, path, paths) == []


BOOT = "import pathlib\nplace = pathlib.Path(__file__).parent / 'lib'\n"
MAKES = f"{BOOT}(place / 'gen.py').write_text('x = 1')\n"


@pytest.mark.parametrize(
    ("line", "boot"),
    [
        ("try:\n    import boot\nexcept ImportError:\n    pass\nimport lib.gen", MAKES),
        ("with open(__file__):\n    import boot\nimport lib.gen", MAKES),
        ("import boot\n@boot.make\ndef f(): ...\nimport lib.gen", ""),
        ("import boot\nclass A:\n    boot.make(1)\nimport lib.gen", ""),
        ("import boot\nclass A(boot.Makes): ...\nimport lib.gen", ""),
        ("import boot\ndef f(x=boot.make(1)): ...\nimport lib.gen", ""),
        ("import boot\nsorted([1], key=boot.make)\nimport lib.gen", ""),
        ("import boot\nlist(map(lambda x: boot.make(x), [1]))\nimport lib.gen", ""),
        ("import lib\nvars(lib).update(gen=1)\nfrom lib import gen", ""),
        ("__package__ = 'lib'\nimport lib\nfrom .there import x", ""),
    ],
)
def test_what_code_makes_before_it_is_imported_is_not_told(
    line: str, boot: str, tmp_path: Path
) -> None:
    make = f"{BOOT}def make(one):\n    (place / 'gen.py').write_text('x = 1')\n    return one\n"
    makes = "class Makes:\n    def __init_subclass__(cls): make(cls)\n"
    named = {
        "train.py": f"{line}\n",
        "boot.py": boot or make + makes,
        "lib/__init__.py": "",
        "lib/there.py": X,
    }

    assert told(tmp_path, named, {}) == []
    assert refused(tmp_path, named) == ""
    plain = {**named, "train.py": "import boot\nimport lib.gen\n", "boot.py": make + makes}
    assert "there is no module lib.gen" in "".join(told(tmp_path, plain, {}))


def test_where_imports_are_no_longer_looked_at_is_a_note(tmp_path: Path) -> None:
    named = {"train.py": "import os\nos.system('true')\nimport json\n"}
    (tmp_path / "train.py").write_text(named["train.py"])

    notes = check("p.yaml", params(named), folder=tmp_path).notes

    assert "not checked: imports after it (train.py:2: it may make modules, or end)" in notes
