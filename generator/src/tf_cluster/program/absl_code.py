"""The flags that a script defines with absl, or with TensorFlow 1's name for it."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial

from tf_cluster.program.argv import argv_change
from tf_cluster.program.choices import Choices
from tf_cluster.program.ends import ends_of
from tf_cluster.program.image_imports import image_imports
from tf_cluster.program.imports import TooMany, is_unread, walk
from tf_cluster.program.options import CommandLine, Option
from tf_cluster.program.resolve import Code, Elsewhere, Unknown
from tf_cluster.program.runs import Runs, app_run
from tf_cluster.program.scope import Module, last_word
from tf_cluster.program.tree import Tree, called_name

_SPACES = (
    "absl.flags",
    *(f"tensorflow.{at}flags" for at in ("", "app.", "compat.v1.", "compat.v1.app.")),
)
_KINDS = {
    "string": "text",
    "bool": "bool",
    "boolean": "bool",
    "integer": "int",
    "float": "float",
    "enum": "text",
    "enum_class": "text",
    "list": "text",
    "spaceseplist": "text",
    "multi_string": "text",
    "multi_integer": "int",
    "multi_float": "float",
    "multi_enum": "text",
    "multi_enum_class": "text",
}
# With one of these keywords a flag is another's, or may take the place of one.
_ODD = (None, "flag_values", "module_name", "allow_override", "allow_override_cpp")
# What a flag's parser judges by, and what takes flags or their values away.
_OF_PARSERS = ("enum_values", "lower_bound", "upper_bound", "case_sensitive")
_REMOVERS = ("remove_flag_values", "append_flag_values")
_MOST_PLACES = {"integer": 5, "float": 5, "enum": 4, "enum_class": 4}
"""Arguments by their places that definitions have, before `flag_values`; others have three."""
_MARKS = ("mark_flag_as_required", "mark_flags_as_required")
# absl reads flags behind other arguments too, unless the program calls this.
_STOPS_READING = ("set_gnu_getopt", "UseGnuGetOpt")


class _UnknowableError(Exception):
    """The flags can't be known; the text says why."""


def absl_options(code: Code, script: Module) -> CommandLine | Unknown | None:
    """The flags of a script and of all that it imports; None if it has none of absl's."""
    if not any(_definition(code, script, node) for node in script.nodes) and not any(
        _run(code, script, node) for node in script.nodes
    ):
        return None
    try:
        trees = {one.file: Tree(one) for one in _all_modules(code, script)}
        ends = ends_of(one.module for one in trees.values())
        for tree in trees.values():
            tree.ends = ends
            _refuse_unseen(code, tree)
        runs = Runs(code, trees[script.file], trees, through_app=False)
        choices = Choices(code, [tree.module for tree in trees.values()])
        options = [one for tree in trees.values() for one in _options(code, tree, runs, choices)]
        marks = _marks(code, trees, runs)
        changed = argv_change(code, script)
        if changed:
            raise _UnknowableError(changed)
    except _UnknowableError as unknowable:
        return Unknown(str(unknowable))
    names = [name for option in options for name in option.names]
    if len(set(names)) != len(names):
        return Unknown(f"{script.file}: a flag is defined twice")
    reader = _reader(code, trees[script.file], runs)
    if options and not reader:
        return Unknown(f"{script.file}: where it surely reads its flags")
    options = [_required(one, marks) for one in options]
    place = options[0].place if options else script.file
    return CommandLine(
        tuple(options),
        strict=reader in ("absl", "flags"),
        place=place,
        by_app=reader != "flags",
        interleaved=not any(_stops_reading(tree.module) for tree in trees.values()),
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
        elif is_unread(code, one.name, one.found):
            raise _UnknowableError(f"{one.place}: {one.name} was not read")
        elif one.found is None and one.name.partition(".")[0] not in image_imports():
            raise _UnknowableError(f"{one.place}: {one.name} may define flags")


def _refuse_unseen(code: Code, tree: Tree) -> None:
    """Refuse what may define flags without a call by the name of DEFINE_.

    Raises _UnknowableError.
    """
    module = tree.module
    if module.runs_unseen_code:
        raise _UnknowableError(f"{module.file}: it runs code that no line names")
    for node in module.nodes:
        outer = tree.parents.get(node)
        if isinstance(node, ast.alias):
            is_odd = node.name.startswith("DEFINE") and node.asname is not None
        elif isinstance(node, (ast.Name, ast.Attribute)):
            is_called = isinstance(outer, ast.Call) and outer.func is node
            is_odd = last_word(node).startswith("DEFINE") and not is_called
        elif isinstance(node, ast.Call) and called_name(node) == "getattr" and node.args:
            meant = code.meaning(module, node.args[0])
            is_odd = isinstance(meant, Elsewhere) and meant.name in _SPACES
        else:
            continue
        if is_odd:
            place = module.place(outer if isinstance(node, ast.alias) and outer else node)
            raise _UnknowableError(f"{place}: a definer of flags by another name")


def _definition(code: Code, module: Module, node: ast.AST) -> str:
    """`integer` of a call of DEFINE_integer; empty for anything else."""
    if not isinstance(node, ast.Call):
        return ""
    if not called_name(node).startswith("DEFINE"):
        return ""
    meant = code.meaning(module, node.func)
    if isinstance(meant, Elsewhere):
        space, _, word = meant.name.rpartition(".")
        if space in _SPACES:
            return word.removeprefix("DEFINE_")
    return "unknown"


def _options(code: Code, tree: Tree, runs: Runs, choices: Choices) -> Iterator[Option]:
    module = tree.module
    for node in module.nodes:
        kind = _definition(code, module, node)
        if not kind or tree.never_runs(node):
            continue
        assert isinstance(node, ast.Call)
        if kind not in _KINDS or tree.is_local(node.func) or not runs.surely(tree, node):
            raise _UnknowableError(f"{module.place(node)}: a flag that depends on what runs")
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        most = _MOST_PLACES.get(kind.removeprefix("multi_"), 3)
        odd = any(isinstance(argument, ast.Starred) for argument in node.args[:most])
        odd = odd or len(node.args) > most
        if odd or not given.keys().isdisjoint(_ODD):
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
        values = None
        if kind in ("enum", "multi_enum") and "case_sensitive" not in given:
            listed = _argument(node, given, 2, "enum_values")
            values = choices.of(listed, partial(tree.meaning, code))
        required = given.get("required")
        needed = isinstance(required, ast.Constant) and bool(required.value)
        default = _argument(node, given, 1, "default")
        yield Option(
            tuple(names),
            module.place(node),
            type=_KINDS[kind],
            choices=values,
            required=needed,
            has_default=not (isinstance(default, ast.Constant) and default.value is None),
            bounds=_bounds(node, given) if _KINDS[kind] in ("int", "float") else (None, None),
        )


def _argument(
    call: ast.Call, given: Mapping[str | None, ast.expr], at: int, name: str
) -> ast.expr | None:
    """An argument of a definition, by its place or by its name."""
    return call.args[at] if len(call.args) > at else given.get(name)


def _bounds(
    call: ast.Call, given: Mapping[str | None, ast.expr]
) -> tuple[float | None, float | None]:
    """The least and the most that a number may be; None where it has no bound, or one unknown."""
    least, most = (
        _number(_argument(call, given, at, name))
        for at, name in ((3, "lower_bound"), (4, "upper_bound"))
    )
    return least, most


def _number(node: ast.expr | None) -> float | None:
    sign = 1
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node, sign = node.operand, -1
    value = node.value if isinstance(node, ast.Constant) else None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return sign * value
    return None


def _run(code: Code, module: Module, node: ast.AST) -> str:
    """The full name of an app.run that is called by its own name; else empty."""
    is_named = isinstance(node, ast.Call) and called_name(node) == "run"
    return app_run(code, module, node) if is_named else ""


def _reader(code: Code, tree: Tree, runs: Runs) -> str:
    """What surely reads the arguments: `absl`, `tensorflow`, `flags`; empty if nothing does.

    absl's app.run and a call of FLAGS refuse flags that they do not know, TensorFlow's app.run
    does not.
    """
    found = set()
    for node in tree.module.nodes:
        name = _run(code, tree.module, node)
        if name:
            assert isinstance(node, ast.Call)
            plain = len(node.args) <= 1 and all(keyword.arg == "main" for keyword in node.keywords)
            if not plain or not runs.surely(tree, node):
                return ""
            found.add(name.partition(".")[0])
        elif isinstance(node, ast.Call) and _is_flags(code, tree, node.func):
            given = [ast.unparse(argument) for argument in node.args]
            if given == ["sys.argv"] and not node.keywords and runs.surely(tree, node):
                found.add("flags")
    return found.pop() if len(found) == 1 else ""


def _is_flags(code: Code, tree: Tree, node: ast.expr) -> bool:
    """Whether an expression is the object FLAGS."""
    if not isinstance(node, (ast.Name, ast.Attribute)) or tree.is_local(node):
        return False
    meant = code.meaning(tree.module, node)
    return isinstance(meant, Elsewhere) and meant.name in {f"{space}.FLAGS" for space in _SPACES}


def _reaches_inside(code: Code, tree: Tree, node: ast.AST) -> bool:
    """Whether it may change flags by what FLAGS is made of, or by other arguments than sys.argv."""
    if isinstance(node, ast.Attribute):
        if node.attr in _OF_PARSERS:
            return True
        is_inner = node.attr.startswith("_") or node.attr in _REMOVERS
        return is_inner and _is_flags(code, tree, node.value)
    if not isinstance(node, ast.Call) or not _is_flags(code, tree, node.func):
        return False
    return [ast.unparse(argument) for argument in node.args] != ["sys.argv"]


def _stops_reading(module: Module) -> bool:
    return any(
        isinstance(node, ast.Attribute) and node.attr in _STOPS_READING for node in module.nodes
    )


@dataclass(frozen=True)
class _Marks:
    """Flags that are marked as required, and those that may get a value by the code.

    `all_given`: a flag of any name may.
    """

    required: frozenset[str]
    given: frozenset[str]
    all_given: bool


def _required(option: Option, marks: _Marks) -> Option:
    """The option as it is needed by its own definition or a mark, if the code gives no value."""
    name = option.names[0]
    is_given = marks.all_given or option.has_default or name in marks.given
    return replace(option, required=not is_given and (option.required or name in marks.required))


def _marks(code: Code, trees: Mapping[str, Tree], runs: Runs) -> _Marks:
    required: set[str] = set()
    given: set[str] = set()
    all_given = False
    for tree in trees.values():
        for node in tree.module.nodes:
            if _reaches_inside(code, tree, node):
                raise _UnknowableError(f"{tree.module.place(node)}: the flags' own parts are used")
            if isinstance(node, (ast.Attribute, ast.Subscript)):
                is_changed = not isinstance(node.ctx, ast.Load) or isinstance(node, ast.Subscript)
                if is_changed and _is_flags(code, tree, node.value):
                    if isinstance(node.ctx, ast.Del):
                        raise _UnknowableError(f"{tree.module.place(node)}: a flag is taken away")
                    name = _name_of(node)
                    given.add(f"--{name}")
                    all_given = all_given or not name
                elif is_changed and tree.is_local(node.value):  # it may be FLAGS
                    given.add(f"--{_name_of(node)}")
            elif isinstance(node, ast.Call):
                name = called_name(node)
                if name in ("delattr", "__delattr__"):  # of FLAGS by any name
                    raise _UnknowableError(f"{tree.module.place(node)}: a flag is taken away")
                if name == "setattr":
                    owner = node.args[:1]
                    all_given = all_given or any(
                        _is_flags(code, tree, one) or tree.is_local(one) for one in owner
                    )
                elif name == "set_default":
                    all_given = True
                elif name in _MARKS and not tree.is_local(node.func) and runs.surely(tree, node):
                    required |= _marked(code, tree.module, node)
    return _Marks(frozenset(required), frozenset(given), all_given)


def _name_of(node: ast.Attribute | ast.Subscript) -> str:
    """The flag that `FLAGS.name` or `FLAGS["name"]` is; empty if that can't be known."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return str(node.slice.value) if isinstance(node.slice, ast.Constant) else ""


def _marked(code: Code, module: Module, call: ast.Call) -> set[str]:
    """The flags that a call marks as required."""
    if not call.args:
        return set()
    meant = code.meaning(module, call.func)
    if not isinstance(meant, Elsewhere) or meant.name.rpartition(".")[0] not in _SPACES:
        return set()
    first = call.args[0]
    several = first.elts if isinstance(first, (ast.List, ast.Tuple)) else [first]
    return {f"--{one.value!s}" for one in several if isinstance(one, ast.Constant)}
