"""Programs drawn beside params files: code that is whole, and params that fit it or miss it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.chart.fuzz.schema import TELLING, Draw


@dataclass(frozen=True)
class Drawn:
    """Files of code, and the keys of a params file that are about them.

    `missed` says what of the keys does not fit the code; nothing where all of it does.
    """

    files: Mapping[str, str]
    params: Mapping[str, Any]
    missed: str = ""


@dataclass(frozen=True)
class _Kind:
    """A type of a flag: its annotation, values that fit it as a file of params has them, and not.

    `defaults` are Python's words for values that fit.
    """

    annotation: str
    fits: tuple[Any, ...]
    misses: tuple[Any, ...]
    defaults: tuple[str, ...]


_TEXTS = ("", "a", "relu", *TELLING[:24])
_KINDS = (
    _Kind("int", (0, 1, -7, 64, 2**31, 2.0, 2**53 - 1), (2.5, "1", True, [1], "many"), ("0", "64")),
    _Kind("float", (0, 0.5, -1.5, 1e-9, 1e300, 3), ("0.5", False, [0.5]), ("0.5", "1", "1e-3")),
    _Kind("str", _TEXTS, (1, True, 0.5, ["a"]), ("''", "'a'", '"on"')),
    _Kind("bool", (True, False), (0, 1, "true", [True]), ("True", "False")),
    _Kind("Literal['a', 'b', 3]", ("a", "b", 3), ("c", 4, "3", True), ("'a'", "3")),
    _Kind("list[int]", ([], [1], [3, 2, 1]), ([1.5], ["1"], 1, "1", [True]), (
        "field(default_factory=list)",
        "field(default_factory=lambda: [8, 4])",
    )),
    _Kind("tuple[str, ...]", ([], ["a"], ["on", "no"]), ([1], "a", [True]), ("()", "('a',)")),
    _Kind("int | None", (1, 2, -1), ("1", 0.5, [1]), ("None", "3")),
    _Kind("Optional[str]", ("a", "null"), (1, ["a"]), ("None", "'a'")),
    _Kind("Union[int, str]", (1, "a", "1"), (True, 0.5, [1]), ("1", "'a'")),
)  # fmt: skip
_FLAG_NAMES = ("units", "rate", "words", "is_deep", "size", "a", "class_", "_hidden", "l2")
_METRICS = ("accuracy", "loss", "rmse", "f1", "top 5", "précision", "on")
_MODULES = ("train", "net_2", "team.train", "team.models.net")
_CLASSES = ("Net", "Digits", "_Model", "N")


@dataclass(frozen=True)
class _Flag:
    name: str
    kind: _Kind
    default: str

    def line(self) -> str:
        default = f" = {self.default}" if self.default else ""
        return f"    {self.name}: {self.kind.annotation}{default}"


def coin(draw: Draw) -> bool:
    """One of two ways."""
    fell: bool = draw(st.booleans())
    return fell


def drawn_code(draw: Draw) -> Drawn:
    """A module with a program, or a script."""
    return draw(st.sampled_from((drawn_module, drawn_module, drawn_script)))(draw)


def drawn_module(draw: Draw) -> Drawn:
    """A class of a module with flags and metrics."""
    module, name = draw(st.sampled_from(_MODULES)), draw(st.sampled_from(_CLASSES))
    flags = _flags(draw)
    metrics = draw(st.lists(st.sampled_from(_METRICS), max_size=3, unique=True))
    files = _files(draw, module, name, flags, metrics)
    given = {
        flag.name: draw(st.sampled_from(flag.kind.fits))
        for flag in flags
        if not flag.default or coin(draw)
    }
    params: dict[str, Any] = {
        "program": {"module": f"{module}:{name}", "source": {"files": sorted(files)}}
    }
    if given or coin(draw):
        params["flags"] = given
    if metrics and coin(draw):
        best = {"metric": draw(st.sampled_from(metrics)), "mode": draw(st.sampled_from(_MODES))}
        params["evaluator"] = {"exportBest": best}
    return _missing(draw, Drawn(files, params), flags)


_MODES = ("max", "min")


def _flags(draw: Draw) -> list[_Flag]:
    names = draw(st.lists(st.sampled_from(_FLAG_NAMES), max_size=4, unique=True))
    found = []
    for name in names:
        kind = draw(st.sampled_from(_KINDS))
        has_default = draw(st.sampled_from((True, True, False)))
        default = draw(st.sampled_from(kind.defaults)) if has_default else ""
        found.append(_Flag(name, kind, default))
    return found


def _missing(draw: Draw, fitting: Drawn, flags: list[_Flag]) -> Drawn:
    """One of five with a mistake in the params."""
    if draw(st.integers(0, 4)):
        return fitting
    params = {key: dict(part) for key, part in fitting.params.items()}
    program, given = params["program"], params.setdefault("flags", {})
    ways = ["class", "module", "unknown flag", *(["type"] if flags else [])]
    ways += ["metric"] if "evaluator" in params else []
    ways += ["missing"] if any(not flag.default for flag in flags) else []
    missed = draw(st.sampled_from(ways))
    if missed == "class":
        program["module"] += draw(st.sampled_from(("s", "_", "1")))
    elif missed == "module":
        program["module"] = f"x{program['module']}"
    elif missed == "unknown flag":
        given[draw(st.sampled_from(("unitz", "batch_size", "units_")))] = 1
    elif missed == "type":
        flag = draw(st.sampled_from(flags))
        given[flag.name] = draw(st.sampled_from(flag.kind.misses))
    elif missed == "missing":
        del given[draw(st.sampled_from([flag.name for flag in flags if not flag.default]))]
    else:
        best = params["evaluator"]["exportBest"]
        params["evaluator"]["exportBest"] = {**best, "metric": f"{best['metric']}2"}
    return Drawn(fitting.files, params, missed)


# What a program's evaluate can look like, with {pairs} of its metrics as a dictionary's.
_EVALUATES = (
    "        return {{{pairs}}}\n",
    "        found = {{}}\n        found.update({{{pairs}}})\n        return found\n",
    "        return dict(self._measured(model))\n\n    def _measured(self, model):\n"
    "        return {{{pairs}}}\n",
    "        return {{{pairs}}} if model is None else {{**{{{pairs}}}}}\n",
)
_HOOKS = """\
    def build_model(self, ctx):
        raise NotImplementedError

    def dataset(self, ctx, input_context):
        raise NotImplementedError
"""
# How a dataclass is written: what comes before, the decorator, whether the order is free.
_DATACLASSES = (
    ("from dataclasses import dataclass, field", "@dataclass(frozen=True)", False),
    ("from dataclasses import dataclass, field", "@dataclass(frozen=True, kw_only=True)", True),
    ("import dataclasses\nfrom dataclasses import field", "@dataclasses.dataclass(frozen=True)", 0),
)
# How the base class is named.
_BASES = (
    ("from tf_cluster_trainer import Program", "Program"),
    ("import tf_cluster_trainer as trainer", "trainer.Program"),
    ("from tf_cluster_trainer import Program as Base", "Base"),
)


def _files(
    draw: Draw, module: str, name: str, flags: list[_Flag], metrics: list[str]
) -> dict[str, str]:
    """The files of a program, by their relative names."""
    imports, base = draw(st.sampled_from(_BASES))
    dataclasses, decorator, is_free = draw(st.sampled_from(_DATACLASSES))
    if not is_free:
        flags.sort(key=lambda flag: bool(flag.default))
    later = coin(draw)
    head = "from __future__ import annotations\n\n" if later else ""
    typing = "from typing import Literal, Optional, Union"
    fields = "\n".join(flag.line() for flag in flags) or "    pass"
    declared = f"{decorator}\nclass Flags:\n{fields}\n"
    body = "    flags = Flags\n\n" if flags or coin(draw) else ""
    body += _HOOKS
    if metrics:
        pairs = ", ".join(f"{metric!r}: 0.5" for metric in metrics)
        evaluate = draw(st.sampled_from(_EVALUATES)).format(pairs=pairs)
        body += f"\n    def evaluate(self, ctx, model):\n{evaluate}"
    path = f"{module.replace('.', '/')}.py"
    program = f"class {name}({base}):\n{body}"
    code_of_flags = f"{dataclasses}\n{typing}\n"
    if body.startswith("    flags") and coin(draw):
        folder, _, _ = module.rpartition(".")
        beside = f"{folder}.settings" if folder else "settings"
        files = {
            f"{beside.replace('.', '/')}.py": f"{head}{code_of_flags}\n\n{declared}",
            path: f"{head}{imports}\n\nfrom {beside} import Flags\n\n\n{program}",
        }
    else:
        files = {path: f"{head}{code_of_flags}\n{imports}\n\n\n{declared}\n\n{program}"}
    parts = module.split(".")[:-1]
    if parts and coin(draw):
        for depth in range(len(parts)):
            files["/".join((*parts[: depth + 1], "__init__.py"))] = ""
    return files


@dataclass(frozen=True)
class _Option:
    """An option of a script: its line in the parser, arguments that it takes, and others."""

    line: str
    fits: tuple[tuple[str, ...], ...]
    misses: tuple[tuple[str, ...], ...] = field(default=())
    is_needed: bool = False


_OPTIONS = (
    _Option(
        "'--steps', type=int, default=1",
        (("--steps=100",), ("--steps", "5"), ("--steps=-1",)),
        (("--steps=many",), ("--steps", "1.5"), ("--steps",)),
    ),
    _Option(
        "'--rate', '-r', type=float, required=True",
        (("--rate=0.5",), ("-r", "1e-3"), ("-r.5",)),
        (("--rate=fast",), ("--rate=",)),
        is_needed=True,
    ),
    _Option("'--sync', action='store_true'", (("--sync",),), (("--sync=yes",),)),
    _Option(
        "'--size', choices=['small', 'large'], default='small'",
        (("--size=small",), ("--size", "large")),
        (("--size=huge",), ("--size=Small",)),
    ),
    _Option("'--name', default=''", (("--name=",), ("--name=a b",), ("--name", "$$(x)"))),
    _Option("'--log_dir', default='/log'", (("--log_dir=$(LOG_DIR)",), ("--log_dir", "/log/a"))),
    _Option("'--index', type=int", (("--index=$(TASK_INDEX)",),), (("--index=first",),)),
    _Option("'--widths', type=int, nargs='+'", (("--widths", "1", "2"),), (("--widths", "a"),)),
)
# How a script has its parser, with the lines that add its options.
_SCRIPTS = (
    "import argparse\n\nparser = argparse.ArgumentParser()\n{lines}args = parser.parse_args()\n",
    "from argparse import ArgumentParser\n\n\ndef main():\n    parser = ArgumentParser()\n"
    "{indented}    args = parser.parse_args()\n\n\nif __name__ == '__main__':\n    main()\n",
)


def drawn_script(draw: Draw) -> Drawn:
    """A script with options, and arguments for it."""
    options = draw(st.lists(st.sampled_from(_OPTIONS), max_size=4, unique=True))
    args = [
        draw(st.sampled_from(option.fits)) for option in options if option.is_needed or coin(draw)
    ]
    missed = draw(st.sampled_from(("", "", "", "value", "unknown", "missing")))
    wrong = [option for option in options if option.misses]
    needed = [option for option in options if option.is_needed]
    if missed == "value" and wrong:
        option = draw(st.sampled_from(wrong))
        args = [one for one in args if one not in option.fits]
        args.append(draw(st.sampled_from(option.misses)))
    elif missed == "unknown":
        args.append(draw(st.sampled_from((("--stpes=3",), ("-z",), ("--batch", "3")))))
    elif missed == "missing" and needed:
        args = [one for one in args if one not in needed[0].fits]
    else:
        missed = ""
    lines = [f"parser.add_argument({option.line})\n" for option in options]
    form = draw(st.sampled_from(_SCRIPTS))
    indented = "".join(f"    {line}" for line in lines)
    text = form.format(lines="".join(lines), indented=indented)
    name = draw(st.sampled_from(("train.py", "code/train.py", "1.py")))
    program: dict[str, Any] = {"script": name, "source": {"files": [name]}}
    if args or coin(draw):
        program["args"] = [word for one in args for word in one]
    return Drawn({name: text}, {"program": program}, missed)
