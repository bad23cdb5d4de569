"""The generator is built in floors: no import runs upwards."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tf_cluster.checks import ADVICE, CHECKS, CLUSTER_ADVICE, CLUSTER_CHECKS

from tests.generator.conftest import ROOT

SOURCE = ROOT / "generator" / "src" / "tf_cluster"
# From the ground up; files by name, folders with all that is in them.
FLOORS = (
    {
        "chart",
        "serving_chart",
        "exits",
        "files",
        "pointer",
        "printable",
        "progress",
        "streams",
        "versions",
    },
    {"findings"},
    {"yaml"},
    {"params"},
    {"expand"},
    {"program"},
    {"checks"},
    {"check", "diff", "fixes", "local", "planning", "starter", "independent", "relaxed"},
    {"cluster"},
    {"convert", "explain", "many", "api"},
    {"cli", "__main__", "__init__"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def _imports(path: Path) -> Iterator[str]:
    """The modules of the package that a file names, wherever it imports them."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module == "tf_cluster":
            yield from (f"tf_cluster.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, path
            yield node.module or ""


def test_no_import_runs_upwards() -> None:
    upwards = []
    for path in sorted(SOURCE.rglob("*.py")):
        room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for module in _imports(path):
            package, _, rest = module.partition(".")
            other = rest.partition(".")[0]
            if package != "tf_cluster" or other not in FLOOR_OF or other == room:
                continue
            if FLOOR_OF[other] > FLOOR_OF[room]:
                upwards.append(f"{path.relative_to(SOURCE)} imports {module}")

    assert upwards == []


def test_every_room_has_a_floor() -> None:
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir()}

    assert rooms - {"__pycache__", "py.typed"} == FLOOR_OF.keys()


def test_every_file_of_checks_is_in_the_list() -> None:
    checks = (*CHECKS, *CLUSTER_CHECKS, *ADVICE, *CLUSTER_ADVICE)
    listed = {vars(one)["__name__"].rpartition(".")[2] for one in checks}

    assert listed == {path.stem for path in (SOURCE / "checks").glob("[!_]*.py")}
