"""No import of the trainer runs upwards, and the supervisor's side imports no TensorFlow."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tf_cluster_trainer

PACKAGE = Path(tf_cluster_trainer.__file__).parent
# Each floor may import from those before it, and no room from another one on its floor.
FLOORS = (
    ("exit_codes", "errors", "log", "protocol", "wire", "config", "container_memory"),
    ("run_directory",),
    ("checkpoint", "servers"),
    ("program", "ps_volume"),
    ("loop",),
    ("strategies.context",),
    ("strategies.step",),
    ("strategies.in_graph", "strategies.between_graph", "strategies.all_reduce"),
    ("strategies.registry",),
    ("child",),
)
WITHOUT_TENSORFLOW = (
    "supervisor.main",
    "run_directory.evaluations",
    "run_directory.evaluator_claim",
    "checkpoint.record",
    "checkpoint.resume_point",
    "serving.ask",
)


# Of the supervisor's rules: these give data and look at nothing.
RULES_MAY = {
    "__future__",
    "collections.abc",
    "dataclasses",
    "enum",
    "functools",
    "math",
    "signal",  # its numbers' names
    "typing",
}
RULES_MAY_OF_OURS = (
    "config",
    "exit_codes",
    "protocol",
    "run_directory.owner",  # its records
    "supervisor.rules",
    "supervisor.status.document",
    "supervisor.timing",
)


def room(module: tuple[str, ...]) -> str:
    """The room of a module: its folder or file in the package, one level deeper in strategies/."""
    return ".".join(module[: 2 if module[0] == "strategies" else 1])


def imported(path: Path) -> Iterator[tuple[str, ...]]:
    """The modules of ours that a file imports, as far as they are imported with `from`."""
    place = path.relative_to(PACKAGE).parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.ImportFrom):
            continue
        named = tuple(node.module.split(".")) if node.module else ()
        if node.level:
            base = (*place[: len(place) - node.level], *named)
        elif named[:1] == (PACKAGE.name,):
            base = named[1:]
        else:
            continue
        yield from ((*base, name.name) for name in node.names)


def test_no_import_runs_upwards() -> None:
    floor = {name: number for number, rooms in enumerate(FLOORS) for name in rooms}
    wrong = []
    for path in sorted(PACKAGE.rglob("*.py")):
        here = room(path.relative_to(PACKAGE).with_suffix("").parts)
        for module in imported(path):
            there = room(module)
            if here not in floor or there == here:
                continue
            above = floor.get(there, len(FLOORS)) >= floor[here]
            if above and not floor[here] == floor.get(there) == 0:
                wrong.append(f"{path.relative_to(PACKAGE)} imports {'.'.join(module)}")
    assert wrong == []


def test_the_supervisors_side_imports_no_tensorflow() -> None:
    names = ", ".join(f"{PACKAGE.name}.{name}" for name in WITHOUT_TENSORFLOW)
    told = "from tf_cluster_trainer import Context, Program"
    code = f"import sys, {names}\n{told}\nprint('tensorflow' in sys.modules)"
    done = subprocess.run((sys.executable, "-c", code), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_supervisors_rules_do_no_io_and_read_no_clock() -> None:
    wrong = []
    for path in sorted((PACKAGE / "supervisor/rules").glob("*.py")):
        for module in imported(path):
            name = ".".join(module)
            if not any(name == own or name.startswith(f"{own}.") for own in RULES_MAY_OF_OURS):
                wrong.append(f"{path.name} imports {name}")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            others = [n for n in names if n not in RULES_MAY and not n.startswith(PACKAGE.name)]
            wrong += [f"{path.name} imports {name}" for name in others]
    assert wrong == []
