"""What may end a script with success, in the functions and modules that it uses."""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from tf_cluster.program.scope import Function, Module, last_word, scope_of

_EXITS = ("exit", "quit", "_exit", "SystemExit")
# They end the process when what they run has ended.
_RUNNERS = (("unittest", "main"), ("app", "run"))
_MAIN = "__main__"
_AS_MODULE = "import "


@dataclass(frozen=True)
class Ends:
    """Names whose call may end the process, and modules whose import may.

    `calls`: functions, methods and classes by their last words, and other names of Python's exit.
    `unseen`: names that may stand for any function, of a program in which one may end.
    """

    calls: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    unseen: "_Unseen | None" = None

    def may_end(self, statement: ast.stmt) -> bool:
        """Whether a statement returns, or ends the process with exit code 0 or an unknown one."""
        return any(isinstance(node, ast.Return) or self.is_end(node) for node in _run_by(statement))

    def is_end(self, node: ast.AST) -> bool:
        """Whether a node alone may end the process so, by what it calls, raises or imports."""
        if _is_exit(node) or (self.unseen is not None and self.unseen.is_call(node)):
            return True
        return any(
            word.removeprefix(_AS_MODULE) in (self.modules if _is_module(word) else self.calls)
            for word in _words(node)
        )


@dataclass(frozen=True)
class _Unseen:
    """Names that are bound in other ways than by `def`, `class` and imports.

    `variables` are plain names, `attributes` those that classes and objects have.
    """

    variables: frozenset[str]
    attributes: frozenset[str]

    def is_call(self, node: ast.AST) -> bool:
        """Whether it calls what its name does not tell: a variable, an item, another's result."""
        if isinstance(node, ast.Lambda):
            return any(map(self.is_call, ast.walk(node.body)))
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Name):
            return node.func.id in self.variables
        if isinstance(node.func, ast.Attribute):
            return node.func.attr in self.attributes
        return True


def ends_of(modules: Iterable[Module]) -> Ends:
    """What may end the process among the functions, classes and modules of a program."""
    modules = tuple(modules)
    unseen = _unseen(modules)
    parts = [part for module in modules for part in _parts(module, unseen)]
    ending = [part.name for part in parts if part.ends]
    ending += [name for module in modules for name in _other_names(module)]
    if not ending and not any(map(_hands_on_an_exit, modules)):
        return Ends()
    users: dict[str, list[_Part]] = {}
    for part in parts:
        for word in part.words:
            users.setdefault(word, []).append(part)
    waiting = [*ending, *(part.name for part in parts if part.calls_unseen)]
    found: set[str] = set()
    while waiting:  # what calls, or imports, what ends
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [part.name for part in users.get(name, ())]
    names = {name for name in found if _is_module(name)}
    calls = frozenset(found - names)
    return Ends(calls, frozenset(name.removeprefix(_AS_MODULE) for name in names), unseen)


@dataclass(frozen=True)
class _Part:
    """A function, a class or a module: whether it ends itself, and what it uses that may.

    `name` and `words` are as they are called; those of modules begin with `_AS_MODULE`.
    `calls_unseen`: it calls what may be any function.
    """

    name: str
    ends: bool
    words: frozenset[str]
    calls_unseen: bool = False


def _parts(module: Module, unseen: _Unseen) -> Iterator[_Part]:
    for node in module.nodes:
        if isinstance(node, Function):
            yield _part(node.name, node.body, unseen)
        elif isinstance(node, ast.ClassDef):
            # Python calls methods such as __post_init__ and __enter__ where no line names them.
            hidden = [
                one for one in node.body if isinstance(one, Function) and _is_hidden(one.name)
            ]
            made = _part(node.name, [line for one in hidden for line in one.body], unseen)
            words = frozenset(_words(node))
            yield _Part(
                made.name,
                made.ends or "SystemExit" in words,
                made.words | words,
                made.calls_unseen,
            )
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                if alias.asname:
                    yield _Part(
                        alias.asname, ends=False, words=frozenset((_last_part(alias.name),))
                    )
    if module.name != _MAIN:
        yield _part(_AS_MODULE + _last_part(module.name), module.at_import(), unseen)


def _is_hidden(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _part(name: str, body: Iterable[ast.stmt], unseen: _Unseen) -> _Part:
    nodes = [node for statement in body for node in _run_by(statement)]
    words = {word for node in nodes for word in _words(node)}
    return _Part(name, any(map(_is_exit, nodes)), frozenset(words), any(map(unseen.is_call, nodes)))


def _unseen(modules: Iterable[Module]) -> _Unseen:
    own = {module.name.partition(".")[0] for module in modules}
    variables: set[str] = set()
    attributes: set[str] = set()
    for module in modules:
        attributes |= module.attributes_set
        libraries = _libraries(module, own)
        for node in module.nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                if not _is_of(module.parents[node], libraries):
                    variables.add(node.id)
            elif isinstance(node, ast.arg):
                variables.add(node.arg)
            elif isinstance(node, (ast.MatchAs, ast.MatchStar)):
                variables.add(node.name or "")
            elif isinstance(node, ast.ClassDef):
                attributes |= set(_set_in(node))
    return _Unseen(frozenset(variables), frozenset(attributes))


def _set_in(node: ast.ClassDef) -> Iterator[str]:
    """What a class has that is no method of it: fields without a value, too."""
    for name, bindings in scope_of(node.body).names.items():
        if not all(isinstance(one.node, Function) for one in bindings):
            yield name
    for line in node.body:
        if isinstance(line, ast.AnnAssign):
            yield last_word(line.target)


def _libraries(module: Module, own: Collection[str]) -> frozenset[str]:
    """What a module calls others that are not the program's."""
    imports = (node for node in module.nodes if isinstance(node, (ast.Import, ast.ImportFrom)))
    return frozenset(
        alias.asname or alias.name.partition(".")[0]
        for node in imports
        for alias in node.names
        if _top(node, alias) not in ("", *own)
    )


def _top(node: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if isinstance(node, ast.Import):
        return alias.name.partition(".")[0]
    return "" if node.level else (node.module or "").partition(".")[0]


def _is_of(outer: ast.AST, libraries: Collection[str]) -> bool:
    """Whether an assignment gives another name to something of a library, as it is: `l = tf.nn`."""
    value = outer.value if isinstance(outer, ast.Assign) else None
    if last_word(value) in _EXITS:
        return False
    while isinstance(value, ast.Attribute):
        value = value.value
    return isinstance(value, ast.Name) and (value.id in libraries or hasattr(builtins, value.id))


def _other_names(module: Module) -> Iterator[str]:
    """What an import calls Python's exit: `from sys import exit as leave`."""
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if alias.asname and alias.name in _EXITS:
                    yield alias.asname


def _hands_on_an_exit(module: Module) -> bool:
    """Whether Python's exit is named where it is not called: `leave = sys.exit`, `f(sys.exit)`."""
    for node in module.nodes:
        if _gets_an_exit(node):
            return True
        if isinstance(node, (ast.Name, ast.Attribute)) and last_word(node) in _EXITS:
            outer = module.parents[node]
            is_called = isinstance(outer, ast.Call) and outer.func is node
            if not (is_called or isinstance(outer, ast.Raise)):
                return True
    return False


def _run_by(statement: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, without the bodies of functions."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, Function):
            waiting += [*node.decorator_list, *node.args.defaults]
            waiting += filter(None, node.args.kw_defaults)
        elif not isinstance(node, ast.Lambda):
            waiting.extend(ast.iter_child_nodes(node))


def _words(node: ast.AST) -> Iterator[str]:
    """What a node calls, hands on, raises or imports, by last words."""
    if isinstance(node, ast.Call):
        yield last_word(node.func)
        if last_word(node.func) != "signal":  # of a signal that comes some time, or never
            yield from map(last_word, node.args)
            yield from (last_word(keyword.value) for keyword in node.keywords)
    elif isinstance(node, ast.Attribute):
        yield node.attr  # a property
    elif isinstance(node, ast.Lambda):
        yield from (word for inner in ast.walk(node.body) for word in _words(inner))
    elif isinstance(node, (*Function, ast.ClassDef)):
        yield from map(_called_word, node.decorator_list)
        if isinstance(node, ast.ClassDef):
            yield from map(_called_word, node.bases)
            yield from (last_word(keyword.value) for keyword in node.keywords)
        elif any(_called_word(one) != "wraps" for one in node.decorator_list):
            yield node.name
    elif isinstance(node, ast.Raise):
        yield last_word(node.exc)
    elif isinstance(node, ast.Import):
        yield from (_AS_MODULE + part for alias in node.names for part in alias.name.split("."))
    elif isinstance(node, ast.ImportFrom):
        yield from (_AS_MODULE + part for part in (node.module or "").split("."))
        yield from (_AS_MODULE + alias.name for alias in node.names)


def _called_word(node: ast.expr) -> str:
    return last_word(node.func if isinstance(node, ast.Call) else node)


def _is_module(word: str) -> bool:
    return word.startswith(_AS_MODULE)


def _is_exit(node: ast.AST) -> bool:
    """Whether it is Python's own way out, with success or with what can't be known.

    Also where it is handed on: `partial(sys.exit, 0)`.
    """
    if isinstance(node, ast.Raise):
        return last_word(node.exc) == "SystemExit"
    if isinstance(node, ast.Lambda):
        return any(map(_is_exit, ast.walk(node.body)))
    if not isinstance(node, ast.Call):
        return False
    if _gets_an_exit(node) or any(last_word(one) in _EXITS for one in node.args):
        return True
    name = last_word(node.func)
    if name.startswith("exec") and name != "exec":
        return True
    if isinstance(node.func, ast.Attribute) and (last_word(node.func.value), name) in _RUNNERS:
        return True
    if name not in _EXITS:
        return False
    given = node.args[0] if node.args else None
    if not isinstance(given, ast.Constant):
        return True
    return given.value % 256 == 0 if isinstance(given.value, int) else given.value is None


def _gets_an_exit(node: ast.AST) -> bool:
    """Whether it is `getattr(sys, "exit")`."""
    if not (isinstance(node, ast.Call) and last_word(node.func) == "getattr"):
        return False
    return any(isinstance(one, ast.Constant) and one.value in _EXITS for one in node.args)


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]
