"""The options that a script declares with argparse, followed through its functions and modules."""

import ast
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from tf_cluster.program.argparse_declared import refused_keys
from tf_cluster.program.argparse_defaults import target, text_default
from tf_cluster.program.argparse_parsers import Parsers, find_parsers
from tf_cluster.program.argparse_patches import names_main, patches, use_elsewhere
from tf_cluster.program.argv import argv_change
from tf_cluster.program.choices import Choices
from tf_cluster.program.options import CommandLine, Option
from tf_cluster.program.resolve import Code, Elsewhere, FunctionHere, Unknown
from tf_cluster.program.scope import Function, Module
from tf_cluster.program.tree import Tree

_PARSER = "argparse.ArgumentParser"
_METHODS = (
    *("error", "exit", "print_help", "print_usage", "format_help", "format_usage", "set_defaults"),
    "get_default",
)
_HARMLESS = (
    *_METHODS,
    *("description", "epilog", "prog", "usage", "formatter_class"),
)
_PARSER_KEYS = ("description", "prog", "usage", "epilog", "formatter_class", "argument_default")
_ACTIONS = (
    *("store", "store_const", "store_true", "store_false", "append", "append_const", "count"),
    *("extend", "help", "version", "optional"),
)
_TYPES = {"builtins.int": "int", "builtins.float": "float", "builtins.str": "text"}
_KEYS = (
    *("action", "nargs", "const", "default", "type", "choices", "required", "help", "metavar"),
    *("dest", "version"),
)
_At = tuple[int, int]
_BEFORE_PARENTS = 4  # prog, usage, description and epilog come first
_MOST_STEPS = 10_000
_MOST_NAMES = 30


class _UnknowableError(Exception):
    """The options can't be known; the text says why."""


def argparse_options(code: Code, script: Module) -> CommandLine | Unknown | None:
    """The command line of a script; None if it makes no parser, or not by argparse alone."""
    parsers = find_parsers(code, script)
    if isinstance(parsers, Unknown) or not parsers.made:
        return parsers if isinstance(parsers, Unknown) else None
    places = [tree.module.place(call) for tree, call in parsers.made]
    if code.is_shadowed("argparse"):
        return Unknown(f"{places[0]}: argparse is Python's, or the program's")
    if len(places) > 1:
        return Unknown(f"{places[1]}: there is more than one ArgumentParser")
    try:
        return _Follower(code, parsers).command_line()
    except _UnknowableError as unknowable:
        return Unknown(str(unknowable))


class _Follower:
    """Follows one parser wherever the code takes it, and notes what is asked of it."""

    def __init__(self, code: Code, parsers: Parsers) -> None:
        self._code = code
        ((self._home, self._made),) = parsers.made
        self._trees = parsers.trees
        self._runs = parsers.runs
        self._modules = parsers.modules
        self._choices = Choices(code, parsers.modules)
        self._kept: set[str] = set()
        self._calls: tuple[_At, ...] = ()
        self._depth = 0
        self._is_closed = False  # it is used in a function that has it from around
        self._options: list[tuple[int, tuple[_At, ...], Option]] = []
        self._exclusive: list[bool] = []
        self._parses: list[tuple[int, tuple[_At, ...], bool]] = []
        self._seen: set[tuple[ast.AST, str, ast.stmt | None]] = set()
        self._argv: set[ast.AST] = set()
        self._returning: dict[ast.AST, int] = {}
        self._called: set[ast.AST] = set()
        self._steps = 0

    @property
    def _script(self) -> Module:
        return next(iter(self._trees.values())).module

    def command_line(self) -> CommandLine:
        """Raises _UnknowableError."""
        made, tree = self._made, self._home
        meant = self._meaning(tree, made.func)
        if meant != Elsewhere(_PARSER):
            raise self._error(tree, made, "another ArgumentParser than argparse's")
        given = self._keywords(tree, made)
        if len(made.args) > _BEFORE_PARENTS:
            raise self._error(tree, made, "arguments without their names")
        flags = {"add_help": True, "allow_abbrev": True}
        for key, node in given.items():
            if key in flags and isinstance(node, ast.Constant):
                flags[key] = bool(node.value)
            elif key not in _PARSER_KEYS:
                raise self._error(tree, made, f"its {key}")
        self._use(tree, made, -1)
        self._refuse_unseen()
        changed = argv_change(self._code, self._script)
        if changed:
            raise _UnknowableError(changed)
        if not self._parses:
            raise self._error(tree, made, "where it surely parses the arguments")
        first = min(at for *at, _ in self._parses)
        late = next((option for *at, option in self._options if at > first), None)
        if late:
            raise _UnknowableError(f"{late.place}: {late.title} comes after it has parsed")
        return CommandLine(
            tuple(option for _, _, option in sorted(self._options, key=lambda one: one[:2])),
            all(is_strict for *_, is_strict in self._parses),
            tree.module.place(made),
            flags["add_help"],
            flags["allow_abbrev"],
            tuple(self._exclusive),
        )

    def _refuse_unseen(self) -> None:
        """Refuse what may change the parser or argparse where it is not followed."""
        home = self._home.module
        is_script = home is self._script
        for module in self._modules:
            for patch in patches(self._code, module):
                raise _UnknowableError(f"{module.place(patch)}: argparse is changed")
            if is_script and not names_main(module):
                continue
            if module.scope.is_open if is_script else module.runs_unseen_code:
                raise _UnknowableError(f"{module.file}: it runs code that no line names")
            use = None if module is home else use_elsewhere(module, home, self._kept)
            if use:
                raise _UnknowableError(f"{module.place(use)}: the parser of {home.file} is used")

    def _tree(self, module: Module) -> Tree:
        if module.file not in self._trees:
            self._trees[module.file] = Tree(module, ends=self._home.ends)
        return self._trees[module.file]

    def _error(self, tree: Tree, node: ast.AST, why: str) -> _UnknowableError:
        return _UnknowableError(f"{tree.module.place(node)}: {why}")

    def _meaning(self, tree: Tree, node: ast.expr) -> Any:
        """What a name stands for, a function's own imports considered."""
        module = getattr(getattr(node, "value", None), "id", "")
        if any(module in tree.argparse_in(one) for one in tree.functions_around(node)):
            return Elsewhere(f"argparse.{getattr(node, 'attr', '')}")
        return tree.meaning(self._code, node)

    def _keywords(self, tree: Tree, call: ast.Call) -> dict[str, ast.expr]:
        if any(isinstance(argument, ast.Starred) for argument in call.args):
            raise self._error(tree, call, "arguments by *")
        given = {}
        for keyword in call.keywords:
            if keyword.arg is None:
                raise self._error(tree, call, "arguments by **")
            given[keyword.arg] = keyword.value
        return given

    def _use(self, tree: Tree, node: ast.expr, group: int) -> None:
        """Take in one use of the parser, or of a group of it: an expression that is it."""
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise self._error(tree, node, "it is used too often")
        if tree.never_runs(node):
            return
        outer = tree.parents.get(node)
        if isinstance(outer, ast.Attribute):
            self._method(tree, node, outer, group)
        elif isinstance(outer, (ast.Assign, ast.AnnAssign)):
            targets = outer.targets if isinstance(outer, ast.Assign) else [outer.target]
            target = targets[0] if len(targets) == 1 else None
            if not isinstance(target, ast.Name) or not tree.is_sure(outer):
                raise self._error(tree, outer, "where it is kept")
            if tree.scope_of(outer) is self._home.module.tree:
                self._kept.add(target.id)
            self._follow(tree, tree.scope_of(outer), target.id, group, outer)
        elif isinstance(outer, ast.Return):
            self._returned(tree, outer, group)
        elif isinstance(outer, ast.Call) and node in outer.args:
            self._passed(tree, outer, outer.args.index(node), group)
        elif isinstance(outer, ast.keyword) and isinstance(call := tree.parents[outer], ast.Call):
            self._passed(tree, call, outer.arg or "", group)
        elif not isinstance(outer, ast.Expr):
            raise self._error(tree, node, "where it goes")

    def _follow(
        self, tree: Tree, scope: ast.AST, name: str, group: int, kept: ast.stmt | None = None
    ) -> None:
        """Take in the uses of a variable that holds the parser or a group since `kept`.

        That is the statement that puts it there; None for an argument of a function.
        """
        if (scope, name, kept) in self._seen:
            return
        self._seen.add((scope, name, kept))
        if len(self._seen) > _MOST_NAMES:
            raise self._error(tree, scope, "it has too many names")
        loads: list[ast.Name] = []
        stores: list[ast.Name] = []
        for node in ast.walk(scope):
            if isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names:
                raise self._error(tree, node, f"{name} is shared")
            if not (isinstance(node, ast.Name) and node.id == name):
                continue
            if not _is_of_another(tree, node, scope):
                (loads if isinstance(node.ctx, ast.Load) else stores).append(node)
        if len(stores) > _MOST_NAMES:
            raise self._error(tree, scope, f"{name} is set too often")
        others = [tree.parents[node] for node in stores if tree.parents[node] is not kept]
        for node in loads:
            if others and tree.scope_of(node) is not scope:
                raise self._error(tree, node, f"{name} is set again")
            if not others or _last_before(node, [*others, *([kept] if kept else [])]) is kept:
                before, self._is_closed = self._is_closed, tree.scope_of(node) is not scope
                self._use(tree, node, group)
                self._is_closed = before
        for node in stores:
            if not self._keeps(tree, node) or (others and not tree.is_sure(tree.parents[node])):
                raise self._error(tree, node, f"{name} is set again")

    def _keeps(self, tree: Tree, target: ast.Name) -> bool:
        """Whether an assignment puts the parser, and nothing else, into a variable."""
        outer = tree.parents.get(target)
        if not isinstance(outer, (ast.Assign, ast.AnnAssign)):
            return False
        value = outer.value
        if value is self._made:
            return True
        if not isinstance(value, ast.Call):
            return False
        function = value.func
        if isinstance(function, ast.Attribute) and function.attr in (
            "add_argument_group",
            "add_mutually_exclusive_group",
        ):
            return True
        meant = self._meaning(tree, function)
        return isinstance(meant, FunctionHere) and meant.node in self._returning

    def _method(self, tree: Tree, node: ast.expr, method: ast.Attribute, group: int) -> None:
        call = tree.parents.get(method)
        if not (isinstance(call, ast.Call) and call.func is method):
            is_read = isinstance(method.ctx, ast.Load)
            if method.attr in _HARMLESS and (is_read or method.attr not in _METHODS):
                return
            raise self._error(tree, method, f"its {method.attr}")
        if method.attr in _HARMLESS:
            return
        if not self._runs.surely(tree, call):
            raise self._error(tree, call, f"{method.attr} depends on what runs")
        if method.attr == "add_argument":
            if not isinstance(tree.parents.get(call), ast.Expr):
                raise self._error(tree, call, "an argument that is changed later")
            if self._is_closed:
                raise self._error(tree, call, "when it is called")
            at = (*self._calls, _position(call))
            self._options.append((self._depth, at, self._option(tree, call, group)))
        elif method.attr == "add_argument_group":
            self._check_group(tree, call, ("title", "description"))
            self._use(tree, call, group)
        elif method.attr == "add_mutually_exclusive_group":
            self._check_group(tree, call, ("required",))
            given = self._keywords(tree, call)
            required = given.get("required")
            if required is not None and not isinstance(required, ast.Constant):
                raise self._error(tree, call, "whether one is required")
            self._exclusive.append(bool(isinstance(required, ast.Constant) and required.value))
            self._use(tree, call, len(self._exclusive) - 1)
        elif method.attr in ("parse_args", "parse_known_args"):
            if len(self._parses) > _MOST_NAMES:
                raise self._error(tree, call, "it parses too often")
            self._check_parse(tree, call)
            at = (*self._calls, _position(call))
            self._parses.append((self._depth, at, method.attr == "parse_args"))
        else:
            raise self._error(tree, call, f"its {method.attr}")

    def _check_group(self, tree: Tree, call: ast.Call, known: tuple[str, ...]) -> None:
        for key in self._keywords(tree, call):
            if key not in known:
                raise self._error(tree, call, f"its {key}")

    def _check_parse(self, tree: Tree, call: ast.Call) -> None:
        scope = tree.scope_of(call)
        given = self._keywords(tree, call)
        arguments = [*call.args[:1], *([given["args"]] if "args" in given else [])]
        for argument in arguments:
            if not self._is_argv(tree, scope, argument):
                raise self._error(tree, call, "which arguments it parses")

    def _is_argv(self, tree: Tree, scope: ast.AST, node: ast.expr) -> bool:
        """None, sys.argv[1:], or a function's argument that is one of them in each call."""
        if isinstance(node, ast.Constant):
            return node.value is None
        if isinstance(node, ast.Subscript):
            return ast.unparse(node) == "sys.argv[1:]"
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            return all(self._is_argv(tree, scope, one) for one in node.values)
        if not (isinstance(node, ast.Name) and isinstance(scope, Function)):
            return False
        names = [argument.arg for argument in scope.args.args]
        if names[:1] != [node.id] or not self._keeps_argv(tree, scope, node.id):
            return False
        if scope in self._argv:
            return True
        self._argv.add(scope)
        if tree.module.scope.only(scope.name) is None:
            return False
        default = scope.args.defaults[0] if len(scope.args.defaults) == len(names) else None
        has_none = isinstance(default, ast.Constant) and default.value is None
        for other, use in self._uses(tree, scope):
            call = other.parents.get(use)
            if not (isinstance(call, ast.Call) and call.func is use) or call.keywords:
                return False
            given = call.args[:1]
            if not given and not has_none:
                return False
            if given and not self._is_argv(other, other.scope_of(call), given[0]):
                return False
        return True

    def _keeps_argv(self, tree: Tree, scope: ast.AST, name: str) -> bool:
        """Whether a function gives its argument no other value than `argv = sys.argv[1:]`."""
        names = (one for one in ast.walk(scope) if isinstance(one, ast.Name) and one.id == name)
        stores = (tree.parents[one] for one in names if not isinstance(one.ctx, ast.Load))
        return all(
            isinstance(one, ast.Assign) and ast.unparse(one.value) == "sys.argv[1:]"
            for one in stores
        )

    def _returned(self, tree: Tree, node: ast.Return, group: int) -> None:
        """The parser is a function's result: follow each call of it."""
        function = tree.scope_of(node)
        returns = [one for one in ast.walk(function) if isinstance(one, ast.Return)]
        if (
            not isinstance(function, ast.FunctionDef)
            or function.decorator_list
            or len(returns) != 1
            or not tree.is_sure(node)
            or tree.module.scope.only(function.name) is None
        ):
            raise self._error(tree, node, "where it is returned to")
        if function in self._returning:
            return
        if len(self._returning) > _MOST_NAMES:
            raise self._error(tree, node, "it has too many names")
        self._returning[function] = group
        before = self._depth, self._calls
        # What the caller does comes after all that stands in the function.
        self._depth, self._calls = self._depth + (not self._calls), self._calls[:-1]
        uses = [(one, use) for one, use in self._uses(tree, function) if not one.never_runs(use)]
        for other, use in uses:
            call = other.parents.get(use)
            if use is not uses[0][1]:
                raise self._error(other, use, f"{function.name} makes another parser")
            if not (isinstance(call, ast.Call) and call.func is use):
                raise self._error(other, use, f"where {function.name} goes")
            self._called.add(function)
            self._use(other, call, group)
        self._depth, self._calls = before

    def _uses(self, tree: Tree, function: ast.AST) -> Iterator[tuple[Tree, ast.expr]]:
        """Where a function of a module is named, there and in the modules whose calls count."""
        name = getattr(function, "name", "")
        for other in (tree, *(one for one in self._trees.values() if one is not tree)):
            for use in other.uses_of(name):
                meant = self._meaning(other, use)
                if isinstance(meant, FunctionHere) and meant.node is function:
                    yield other, use

    def _passed(self, tree: Tree, call: ast.Call, argument: int | str, group: int) -> None:
        """The parser is an argument of a function: follow it there."""
        meant = self._meaning(tree, call.func)
        if not isinstance(meant, FunctionHere) or not tree.is_sure(call):
            raise self._error(tree, call, "what is done to it there")
        function = meant.node
        names = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        if isinstance(argument, int):
            argument = names[argument] if argument < len(names) else ""
        is_known = argument in (*names, *(one.arg for one in function.args.kwonlyargs))
        if function.decorator_list or not is_known or function in self._called:
            raise self._error(tree, call, "what is done to it there")
        self._called.add(function)
        before = self._calls
        self._calls = (*before, _position(call))
        self._follow(self._tree(meant.module), function, argument, group)
        self._calls = before

    def _option(self, tree: Tree, call: ast.Call, group: int) -> Option:
        given = self._keywords(tree, call)
        names = []
        for argument in call.args:
            if not (isinstance(argument, ast.Constant) and isinstance(argument.value, str)):
                raise self._error(tree, call, "the name of an argument")
            names.append(argument.value)
        dest = given.get("dest")
        if not names and isinstance(dest, ast.Constant):
            names = [str(dest.value)]
        if not names or any(key not in _KEYS for key in given):
            raise self._error(tree, call, "what argument it adds")
        action = self._action(tree, given.get("action"))
        if action is None:
            raise self._error(tree, call, "what its action does")
        nargs = given.get("nargs")
        if nargs is not None and not (
            (isinstance(nargs, ast.Constant) and nargs.value in (None, "?", "*", "+"))
            or (isinstance(nargs, ast.Constant) and isinstance(nargs.value, int))
        ):
            raise self._error(tree, call, "how many values it takes")
        kind = "text"
        if "type" in given:
            meant = self._meaning(tree, given["type"])
            kind = _TYPES.get(meant.name, "unknown") if isinstance(meant, Elsewhere) else "unknown"
        choices = None
        if kind != "unknown":
            choices = self._choices.of(given.get("choices"), partial(self._meaning, tree))
        required = given.get("required")
        scope = tree.scope_of(call)
        is_home = scope is self._home.scope_of(self._made)
        within = f"{tree.module.place(scope)} {getattr(scope, 'name', '')}"
        return Option(
            tuple(names),
            tree.module.place(call),
            action,
            nargs.value if isinstance(nargs, ast.Constant) else None,  # type: ignore[arg-type]
            kind,
            choices,
            isinstance(required, ast.Constant) and bool(required.value),
            group,
            has_default="default" in given,
            refused=refused_keys(names[0], action, frozenset(given)),
            default=text_default(given),
            target=target(names, given),
            within=within if is_home or not self._returning else "",
        )

    def _action(self, tree: Tree, node: ast.expr | None) -> str | None:
        if node is None:
            return "store"
        if isinstance(node, ast.Constant):
            return node.value if node.value in _ACTIONS else None
        if self._meaning(tree, node) == Elsewhere("argparse.BooleanOptionalAction"):
            return "optional"
        return None


def _position(node: ast.AST) -> _At:
    """Line and column where a node ends: of `f(x).g()`, the second call comes later."""
    return getattr(node, "end_lineno", None) or 0, getattr(node, "end_col_offset", None) or 0


def _last_before(node: ast.expr, statements: Sequence[ast.AST]) -> ast.AST | None:
    """The last of some statements that ends before an expression; None if none does."""
    start = node.lineno, node.col_offset
    before = [one for one in statements if _position(one) <= start]
    return max(before, key=_position, default=None)


def _is_of_another(tree: Tree, node: ast.Name, scope: ast.AST) -> bool:
    """Whether a name is one that a function inside `scope` binds itself."""
    for function in tree.functions_around(node):
        if function is scope:
            return False
        if node.id in tree.bound_in(function):
            return True
    return False
