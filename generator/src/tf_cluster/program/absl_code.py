"""The flags that a script defines with absl, or with TensorFlow 1's name for it."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tf_cluster.params.wording import either, excerpt
from tf_cluster.program.argparse_judge import unknown_option
from tf_cluster.program.argv import argv_change
from tf_cluster.program.image_imports import image_imports
from tf_cluster.program.imports import TooMany, walk
from tf_cluster.program.options import CommandLine, Option, Problem
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.resolve import Code, Elsewhere, Unknown, is_standard
from tf_cluster.program.scope import Module
from tf_cluster.program.tree import Tree

_SPACES = (
    "absl.flags",
    *(f"tensorflow.{at}flags" for at in ("", "app.", "compat.v1.", "compat.v1.app.")),
)
_RUNS = ("absl.app.run", "tensorflow.app.run", "tensorflow.compat.v1.app.run")
_KINDS = {
    "string": "text",
    "bool": "bool",
    "boolean": "bool",
    "integer": "int",
    "float": "float",
    "enum": "text",
    "list": "text",
    "spaceseplist": "text",
    "multi_string": "text",
    "multi_integer": "int",
    "multi_float": "float",
    "multi_enum": "text",
}
# Flags of absl and TensorFlow themselves, and those that absl makes of others.
_OWN = frozenset(
    (
        *("?", "help", "helpfull", "helpshort", "helpxml", "flagfile", "undefok"),
        *("alsologtostderr", "log_dir", "logger_levels", "logtostderr", "showprefixforinfo"),
        *("stderrthreshold", "v", "verbosity", "only_check_args", "only_check_flags"),
        *(
            "pdb",
            "pdb_post_mortem",
            "profile_file",
            "run_with_pdb",
            "run_with_profiling",
            "use_cprofile_for_profiling",
        ),
        *("test_random_seed", "test_randomize_ordering_seed", "test_srcdir", "test_tmpdir"),
        *("delta_threshold", "hbm_oom_exit", "op_conversion_fallback_to_while_loop"),
        *("runtime_oom_exit", "tt_check_filter", "tt_single_core_summaries", "xml_output_file"),
    )
)
# Those of them that take a value, which may be an argument of its own.
_OWN_VALUED = frozenset(
    (
        *("log_dir", "logger_levels", "stderrthreshold", "v", "verbosity", "profile_file"),
        *("test_random_seed", "test_randomize_ordering_seed", "test_srcdir", "test_tmpdir"),
        *("xml_output_file",),
    )
)
# absl reads flags behind other arguments too, unless the program calls this.
_STOPS_READING = ("set_gnu_getopt", "UseGnuGetOpt")
_MOST_PROBLEMS = 20


class _UnknowableError(Exception):
    """The flags can't be known; the text says why."""


def absl_options(code: Code, script: Module) -> CommandLine | Unknown | None:
    """The flags of a script and of all that it imports; None if it has none of absl's."""
    if not any(_definition(code, script, node) for node in script.nodes) and not any(
        _is_run(code, script, node) for node in script.nodes
    ):
        return None
    tree = Tree.of(script)
    try:
        modules = list(_all_modules(code, script))
        options = [option for module in modules for option in _options(code, module)]
        changed = argv_change(code, script)
        if changed:
            raise _UnknowableError(changed)
    except _UnknowableError as unknowable:
        return Unknown(str(unknowable))
    names = [name for option in options for name in option.names]
    if len(set(names)) != len(names):
        return Unknown(f"{script.file}: a flag is defined twice")
    required = _required(code, script)
    options = [
        replace(o, required=True) if o.names[0] in required and not o.has_default else o
        for o in options
    ]
    place = options[0].place if options else script.file
    run = _plain_run(code, tree)
    return CommandLine(
        tuple(options),
        strict=run == "absl.app.run",
        place=place,
        interleaved=bool(run) and not any(map(_stops_reading, modules)),
    )


def _all_modules(code: Code, script: Module) -> Iterator[Module]:
    """The script and every module of the program that it imports, and those import.

    Raises _UnknowableError if one of them can't be read, or may define flags out of sight.
    """
    for one in walk(code, script):
        if isinstance(one, Module):
            yield one
        elif isinstance(one, TooMany):
            raise _UnknowableError(f"{script.file} imports too much")
        elif not one.name:
            raise _UnknowableError(f"{one.place} imports from outside its package")
        elif isinstance(one.found, (Unknown, NotParsed)) and (
            code.is_shadowed(one.name) or not is_standard(one.name)
        ):
            raise _UnknowableError(f"{one.place}: {one.name} was not read")
        elif one.found is None and one.name.partition(".")[0] not in image_imports():
            raise _UnknowableError(f"{one.place}: {one.name} may define flags")


def _definition(code: Code, module: Module, node: ast.AST) -> str:
    """`integer` of a call of DEFINE_integer; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if not last.startswith("DEFINE"):
        return ""
    meant = code.meaning(module, function)
    if isinstance(meant, Elsewhere):
        space, _, word = meant.name.rpartition(".")
        if space in _SPACES:
            return word.removeprefix("DEFINE_")
    return "unknown"


def _options(code: Code, module: Module) -> Iterator[Option]:
    tree = Tree.of(module)
    for node in module.nodes:
        kind = _definition(code, module, node)
        if not kind:
            continue
        assert isinstance(node, ast.Call)
        is_top = tree.scope_of(node) is module.tree and tree.is_sure(node)
        guarded = module.name != "__main__" and any(
            isinstance(one, ast.If) for one in _around(tree, node)
        )
        if kind not in _KINDS or not is_top or guarded:
            raise _UnknowableError(f"{module.place(node)}: a flag that depends on what runs")
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        odd = any(isinstance(argument, ast.Starred) for argument in node.args)
        if odd or None in given or "flag_values" in given or "module_name" in given:
            raise _UnknowableError(f"{module.place(node)}: how the flag is defined")
        name = node.args[0] if node.args else given.get("name", given.get("flag_name"))
        if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
            raise _UnknowableError(f"{module.place(node)}: the name of a flag")
        short = given.get("short_name")
        names = [f"--{name.value}"]
        if short is not None:
            if not (isinstance(short, ast.Constant) and isinstance(short.value, str)):
                raise _UnknowableError(f"{module.place(node)}: the short name of a flag")
            names.append(f"--{short.value}")
        choices = None
        if kind in ("enum", "multi_enum"):
            values = node.args[2] if len(node.args) > 2 else given.get("enum_values")
            is_folded = "case_sensitive" in given
            if isinstance(values, (ast.List, ast.Tuple)) and not is_folded:
                constants = [v.value for v in values.elts if isinstance(v, ast.Constant)]
                choices = tuple(constants) if len(constants) == len(values.elts) else None
        required = given.get("required")
        needed = isinstance(required, ast.Constant) and bool(required.value)
        default = node.args[1] if len(node.args) > 1 else given.get("default")
        yield Option(
            tuple(names),
            module.place(node),
            type=_KINDS[kind],
            choices=choices,
            required=needed,
            has_default=not (isinstance(default, ast.Constant) and default.value is None),
        )


def _around(tree: Tree, node: ast.AST) -> Iterator[ast.AST]:
    while node in tree.parents:
        node = tree.parents[node]
        yield node


def _is_run(code: Code, module: Module, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    last = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if last != "run":
        return False
    meant = code.meaning(module, function)
    return isinstance(meant, Elsewhere) and meant.name in _RUNS


def _plain_run(code: Code, tree: Tree) -> str:
    """The full name of the app.run that surely reads the arguments; empty if there is no such.

    absl's refuses flags that it does not know, TensorFlow's does not.
    """
    runs = [node for node in tree.module.nodes if _is_run(code, tree.module, node)]
    if (
        len(runs) != 1
        or not tree.is_sure(runs[0])
        or tree.scope_of(runs[0]) is not tree.module.tree
    ):
        return ""
    (run,) = runs
    assert isinstance(run, ast.Call)
    plain = len(run.args) <= 1 and all(keyword.arg == "main" for keyword in run.keywords)
    meant = code.meaning(tree.module, run.func)
    return meant.name if plain and isinstance(meant, Elsewhere) else ""


def _stops_reading(module: Module) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in _STOPS_READING for node in module.nodes
    )


def _required(code: Code, script: Module) -> set[str]:
    """Flags that are marked as required at the top of the script, or below its main guard."""
    tree = Tree.of(script)
    found: set[str] = set()
    for node in script.nodes:
        if not (isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute))):
            continue
        meant = code.meaning(script, node.func)
        if not isinstance(meant, Elsewhere) or not node.args:
            continue
        space, _, word = meant.name.rpartition(".")
        if space not in _SPACES or tree.scope_of(node) is not script.tree or not tree.is_sure(node):
            continue
        first = node.args[0]
        if word == "mark_flag_as_required" and isinstance(first, ast.Constant):
            found.add(f"--{first.value!s}")
        if word == "mark_flags_as_required" and isinstance(first, (ast.List, ast.Tuple)):
            found |= {f"--{one.value!s}" for one in first.elts if isinstance(one, ast.Constant)}
    return found


def absl_problems(line: CommandLine, args: Sequence[str]) -> list[Problem]:
    """What absl refuses of these arguments, as its `FlagValues` reads them."""
    options = {name: option for option in line.options for name in option.names}
    found: list[Problem] = []
    given: set[str] = set()
    index = 0
    while index < len(args):
        text = args[index]
        at = index
        index += 1
        if text == "--":
            break
        word, equals, value = text[2 if text.startswith("--") else 1 :].partition("=")
        if not text.startswith("-") or not word:  # no flag
            if line.interleaved:
                continue
            return found
        name = f"--{word}"
        has_next = index < len(args) and not args[index].startswith("-")
        option = options.get(name)
        if option is None and word.startswith("no") and f"--{word[2:]}" in options:
            other = options[f"--{word[2:]}"]
            if other.type == "bool":
                given.add(other.names[0])
                if equals:
                    words = f"{name} takes no value"
                    found.append(Problem("value", words, at, other.names[0], place=other.place))
                continue
        if option is None:
            if word in ("flagfile", "undefok"):
                return []
            if word in _OWN or word.removeprefix("no") in _OWN:
                if not equals and (word in _OWN_VALUED or (has_next and line.interleaved)):
                    index += 1
                elif not equals and has_next:
                    return found  # its value, or the first argument that is no flag
                continue
            if not line.strict:
                if not equals and not line.interleaved:
                    return found
                continue
            if len(found) >= _MOST_PROBLEMS:
                return found
            problem = unknown_option(name, at, line)
            found.append(problem)
            given.add(problem.name)
            if not equals and has_next:
                index += 1
            continue
        given.add(option.names[0])
        if not equals:
            if option.type == "bool":
                continue
            if index >= len(args):
                found.append(Problem("value", f"{name} has no value", at, name, place=option.place))
                return found
            value = args[index]
            index += 1
        wrong = _wrong_value(option, value)
        if wrong:
            words = f"{name} is {excerpt(value)}, not {wrong}"
            found.append(Problem("value", words, at, name, place=option.place))
    found += [
        Problem("missing", f"{o.names[0]} is missing", None, o.names[0], place=o.place)
        for o in line.options
        if o.required and o.names[0] not in given
    ]
    return found


def _wrong_value(option: Option, value: str) -> str:
    """What is needed instead of a value; empty if it is good."""
    if option.choices is not None and value not in option.choices:
        return either(excerpt(choice) for choice in option.choices)
    if option.type == "bool":
        good = value.lower() in ("true", "t", "1", "false", "f", "0")
        return "" if good else "true or false"
    try:
        if option.type == "int":
            base = {"0o": 8, "0x": 16}.get(value[:2], 10) if len(value) > 2 else 10
            int(value, base)
        elif option.type == "float":
            float(value)
    except ValueError:
        return "a whole number" if option.type == "int" else "a number"
    return ""
