"""The imports that surely run when a program starts, in its modules, too."""

import ast
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from tf_cluster.program.imports import MOST_MODULES, is_unread, look_for
from tf_cluster.program.quiet import is_quiet
from tf_cluster.program.resolve import Code, Missing
from tf_cluster.program.scope import Module, is_main_guard
from tf_cluster.program.tree import imported_names, named_modules

_IMPORTS = (ast.Import, ast.ImportFrom)


@dataclass(frozen=True)
class SureImport:
    """An import that surely runs, in the program's own module or one that it imports."""

    module: Module
    node: ast.Import | ast.ImportFrom

    @property
    def names(self) -> list[str]:
        """What is taken by `from … import`, without the star."""
        if isinstance(self.node, ast.Import):
            return []
        return [alias.name for alias in self.node.names if alias.name != "*"]


def sure_imports(code: Code, module: Module) -> tuple[list[SureImport], str]:
    """The imports at the top, up to what may install, make files or end; and where that stands.

    The place is empty where no import follows.
    """
    walk = _Walk(code, {module.file})
    walk.follows = code.is_ours(module.name)
    return list(walk.run(module)), walk.stopped


@dataclass
class _Walk:
    code: Code
    seen: set[str] = field(default_factory=set)
    stopped: str = ""
    follows: bool = True

    def run(self, module: Module) -> Generator[SureImport, None, bool]:
        """The imports of a module, in Python's order; gives whether it surely runs to its end."""
        statements = list(_statements(module))
        for at, statement in enumerate(statements):
            if isinstance(statement, _IMPORTS):
                one = SureImport(module, statement)
                yield one
                goes_on = not self.follows or (yield from self._follow(one))
            else:
                goes_on = is_quiet(self.code, module, statement)
            if not goes_on:
                later = statements[at + 1 :]
                if not self.stopped and any(isinstance(node, _IMPORTS) for node in later):
                    self.stopped = module.place(statement)
                return False
        return True

    def _follow(self, one: SureImport) -> Generator[SureImport, None, bool]:
        for name, found in look_for(self.code, self._run_by(one)):
            if isinstance(found, Module):
                if found.file in self.seen or not self.code.is_ours(name):
                    continue
                if len(self.seen) >= MOST_MODULES:
                    return False
                self.seen.add(found.file)
                if not (yield from self.run(found)):
                    return False
            elif is_unread(self.code, name, found):
                return False
        return True

    def _run_by(self, one: SureImport) -> list[str]:
        """The modules that an import runs, without names that a package has itself."""
        sources = named_modules(one.module, one.node)
        kept = {
            f"{source}.{name}"
            for source in sources
            for name in one.names
            if isinstance(self.code.module(source), Module) and not self._lacks(source, name)
        }
        return [name for name in imported_names(one.module, one.node) if name not in kept]

    def _lacks(self, source: str, name: str) -> bool:
        package = self.code.module(source)
        return isinstance(package, Module) and isinstance(self.code.named(package, name), Missing)


def _statements(module: Module) -> Iterator[ast.stmt]:
    """The statements of a module; those below the main guard, too, if it is the script."""
    for statement in module.tree.body:
        if not is_main_guard(statement):
            yield statement
        elif module.name == "__main__":
            assert isinstance(statement, ast.If)
            yield from statement.body
