"""What surely runs when a script is started, in the script and in what it imports."""

import ast
from collections.abc import Iterator, Mapping

from tf_cluster.program.imports import look_for
from tf_cluster.program.resolve import ClassHere, Code, Elsewhere, FunctionHere
from tf_cluster.program.scope import Module
from tf_cluster.program.tree import Tree, imported_names

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
        if owner.decorator_list or tree.parents[owner] is not tree.module.tree:
            return
        if method.name == "__init__":
            yield from self._calls_of(tree, owner, owner.name)
            return
        if sum(other.function_names[method.name] for other in self._trees.values()) == 1:
            for other in self._trees.values():
                for use in other.uses.get(method.name, ()):
                    if isinstance(use, ast.Attribute) and _is_called(other, use):
                        yield other, use

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


def _is_called(tree: Tree, use: ast.AST) -> bool:
    call = tree.parents.get(use)
    return isinstance(call, ast.Call) and call.func is use


def _is_lazy(function: ast.FunctionDef) -> bool:
    """A generator: its call runs nothing."""
    return any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in ast.walk(function))
