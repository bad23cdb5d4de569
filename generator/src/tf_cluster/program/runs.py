"""What surely runs when a script is started, in the script and in what it imports."""

import ast
from collections.abc import Iterator, Mapping

from tf_cluster.program.imports import look_for
from tf_cluster.program.resolve import ClassHere, Code, Elsewhere, FunctionHere, ValueHere
from tf_cluster.program.scope import Function, Module, last_word, scope_of
from tf_cluster.program.tree import Tree, imported_names

_DEEPEST = 10
# They run the `main` of the script.
_APP_RUNS = ("absl.app.run", "tensorflow.app.run", "tensorflow.compat.v1.app.run")


class Runs:
    """Which calls surely run. What is called in no plain way does not run surely."""

    def __init__(
        self, code: Code, script: Tree, trees: Mapping[str, Tree], *, through_app: bool = True
    ) -> None:
        """`trees`, by the names of their files, are the modules whose calls count.

        `through_app`: what app.run runs counts too; it has read the flags of absl before.
        """
        self._code = code
        self._through_app = through_app
        self._script = script
        self._trees = trees
        self._sure: dict[ast.AST, bool] = {}
        self._imported: set[str] | None = None
        self._plain: dict[ast.ClassDef, bool] = {}
        self._below: dict[tuple[ast.ClassDef, ast.ClassDef], bool] = {}

    def surely(self, tree: Tree, node: ast.AST) -> bool:
        """Whether a node runs in each run of the script, unless that fails before."""
        if tree.never_runs(node) or not tree.is_sure(node) or tree.may_end_before(node):
            return False
        scope = tree.scope_of(node)
        if scope is tree.module.tree:
            return tree.module.file in self._surely_imported()
        if scope not in self._sure:
            self._sure[scope] = False  # a function that only calls itself
            self._sure[scope] = any(self.surely(*call) for call in self._calls(tree, scope))
        return self._sure[scope]

    def _surely_imported(self) -> set[str]:
        """The files of the modules that are imported in each run, the script's too."""
        if self._imported is None:
            self._imported = {self._script.module.file}
            waiting = [self._script]
            while waiting:
                tree = waiting.pop()
                for other in self._imports(tree):
                    if other.module.file not in self._imported:
                        self._imported.add(other.module.file)
                        waiting.append(other)
        return self._imported

    def _imports(self, tree: Tree) -> Iterator[Tree]:
        for node in tree.module.nodes:
            if isinstance(node, (ast.Import, ast.ImportFrom)) and (
                tree.scope_of(node) is tree.module.tree
                and tree.is_sure(node)
                and not tree.never_runs(node)
            ):
                for _, found in look_for(self._code, imported_names(tree.module, node)):
                    if isinstance(found, Module) and found.file in self._trees:
                        yield self._trees[found.file]

    def _calls(self, tree: Tree, function: ast.AST) -> Iterator[tuple[Tree, ast.AST]]:
        """The calls of a function that are sure to be of it."""
        if not isinstance(function, ast.FunctionDef) or _is_lazy(function):
            return
        outer = tree.parents[function]
        if isinstance(outer, ast.ClassDef):
            yield from self._calls_of_method(tree, outer, function)
        elif outer is tree.module.tree:
            if not function.decorator_list:
                yield from self._calls_of(tree, function, function.name)
        elif not function.decorator_list:
            scope = tree.scope_of(function)
            if isinstance(scope, Function) and not scope_of(scope.body).only(function.name):
                return
            for use in tree.uses.get(function.name, ()):
                if tree.scope_of(use) is scope and _is_called(tree, use):
                    yield tree, tree.parents[use]

    def _calls_of(
        self, tree: Tree, definition: ast.AST, name: str
    ) -> Iterator[tuple[Tree, ast.AST]]:
        for other in (tree, *(one for one in self._trees.values() if one is not tree)):
            for use in other.uses_of(name):
                if not isinstance(other.parents.get(use), (ast.Call, ast.keyword)):
                    continue
                if other.is_local(use):
                    continue
                meant = self._code.meaning(other.module, use)
                is_meant = isinstance(meant, (FunctionHere, ClassHere)) and meant.node is definition
                if is_meant and (_is_called(other, use) or self._is_handed_on(other, use)):
                    yield other, use
        if name == "main" and tree is self._script:
            yield from self._runs_of_main()

    def _calls_of_method(
        self, tree: Tree, owner: ast.ClassDef, method: ast.FunctionDef
    ) -> Iterator[tuple[Tree, ast.AST]]:
        name = method.name
        if tree.parents[owner] is not tree.module.tree or not all(
            map(_binds, method.decorator_list)
        ):
            return
        if name == "__init__":
            if self._is_plain(tree, owner):
                yield from self._calls_of(tree, owner, owner.name)
            return
        # Nothing else may stand in its place: a class below, or one object alone.
        if sum(other.module.class_names[name] for other in self._trees.values()) > 1:
            return
        if self._code.setter_of(name):
            return
        for other in self._trees.values():
            for use in other.uses.get(name, ()):
                if isinstance(use, ast.Name) or not _is_called(other, use):
                    continue
                if self._is_of(other, use.value, owner):
                    yield other, use

    def _is_plain(self, tree: Tree, owner: ast.ClassDef, depth: int = 0) -> bool:
        """Whether a call of a class surely runs its `__init__`."""
        if owner not in self._plain:
            self._plain[owner] = False
            self._plain[owner] = self._has_plain_bases(tree, owner, depth)
        return self._plain[owner]

    def _has_plain_bases(self, tree: Tree, owner: ast.ClassDef, depth: int) -> bool:
        if owner.decorator_list or owner.keywords or depth > _DEEPEST:
            return False
        for base in owner.bases:
            meant = self._code.meaning(tree.module, base)
            if meant == Elsewhere("builtins.object"):
                continue
            if not isinstance(meant, ClassHere) or meant.module.file not in self._trees:
                return False
            if not self._is_plain(self._trees[meant.module.file], meant.node, depth + 1):
                return False
        names = scope_of(owner.body).names
        return "__new__" not in names and "__getattribute__" not in names

    def _is_of(self, tree: Tree, node: ast.expr, owner: ast.ClassDef) -> bool:
        """Whether an expression is a class, one below it, or an object of one of them."""
        function = tree.scope_of(node)
        if isinstance(node, ast.Name) and isinstance(function, ast.FunctionDef):
            first = (*function.args.posonlyargs, *function.args.args)[:1]
            if first and first[0].arg == node.id and tree.parents[function] is owner:
                is_set = node.id in scope_of(function.body).names
                return not is_set and not any(map(_is_static, function.decorator_list))
            if node.id in tree.bound_in(function):
                binding = scope_of(function.body).only(node.id)
                value = binding.value if binding else None
                return isinstance(value, ast.Call) and self._is_class(tree, value.func, owner)
        if isinstance(node, ast.Call):
            return self._is_class(tree, node.func, owner)
        if tree.is_local(node):
            return False
        meant = self._code.meaning(tree.module, node)
        if self._code.setter_of(last_word(node)):
            return False
        if isinstance(meant, ValueHere) and isinstance(meant.node, ast.Call):
            home = self._trees.get(meant.module.file)
            return home is not None and self._is_class(home, meant.node.func, owner)
        return self._is_class(tree, node, owner)

    def _is_class(self, tree: Tree, node: ast.expr, owner: ast.ClassDef, depth: int = 0) -> bool:
        if depth > _DEEPEST:
            return False
        meant = tree.meaning(self._code, node)
        if not isinstance(meant, ClassHere) or meant.module.file not in self._trees:
            return False
        found, home = meant.node, self._trees[meant.module.file]
        if not self._is_plain(home, found):
            return False
        key = (found, owner)
        if key not in self._below:
            self._below[key] = False
            self._below[key] = found is owner or any(
                self._is_class(home, base, owner, depth + 1) for base in found.bases
            )
        return self._below[key]

    def _is_handed_on(self, tree: Tree, use: ast.AST) -> bool:
        """Whether it is what `app.run` gets: `app.run(main)`, `app.run(main=main)`."""
        call = tree.parents.get(use)
        if isinstance(call, ast.keyword):
            call = tree.parents.get(call)
        return self._is_app(tree, call)

    def _runs_of_main(self) -> Iterator[tuple[Tree, ast.AST]]:
        """`tf.app.run()`."""
        for use in self._script.uses_of("run"):
            call = self._script.parents.get(use)
            if not (isinstance(call, ast.Call) and call.func is use and not call.args):
                continue
            if self._is_app(self._script, call):
                yield self._script, call

    def _is_app(self, tree: Tree, call: ast.AST | None) -> bool:
        return self._through_app and bool(app_run(self._code, tree.module, call))


def app_run(code: Code, module: Module, node: ast.AST | None) -> str:
    """The full name of absl's or TensorFlow's app.run, if a node is a call of it; else empty."""
    if not isinstance(node, ast.Call):
        return ""
    meant = code.meaning(module, node.func)
    return meant.name if isinstance(meant, Elsewhere) and meant.name in _APP_RUNS else ""


def _binds(decorator: ast.expr) -> bool:
    """Whether it is `staticmethod` or `classmethod`, which change nothing of what runs."""
    return isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod")


def _is_static(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "staticmethod"


def _is_called(tree: Tree, use: ast.AST) -> bool:
    call = tree.parents.get(use)
    return isinstance(call, ast.Call) and call.func is use


def _is_lazy(function: ast.FunctionDef) -> bool:
    """A generator: its call runs nothing."""
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))
