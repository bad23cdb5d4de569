"""What a script imports of the program, and what those modules import."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.resolve import Code, Missing, Namespace, Unknown, is_standard
from tf_cluster.program.scope import Module
from tf_cluster.program.tree import imported_names, iterate_imports

MOST_MODULES = 50
"""Modules of a program that are looked at."""

Found = Module | NotParsed | Unknown | Missing | None
"""What `Code.module` says of a name."""


@dataclass(frozen=True)
class NoModule:
    """A name of an import at `place` that leads to no module that was read.

    `name` is empty for an import from outside its package. `found` is what `Code.module` says.
    """

    place: CodePlace
    name: str = ""
    found: Found = None


@dataclass(frozen=True)
class TooMany:
    """There are more modules than are looked at."""


def is_unread(code: Code, name: str, found: Found) -> bool:
    """Whether a module of the program was not read: anything may stand in it."""
    if isinstance(found, Namespace) or not isinstance(found, (Unknown, NotParsed)):
        return False
    return code.is_shadowed(name) or not is_standard(name)


def look_for(code: Code, names: Iterable[str]) -> Iterator[tuple[str, Found]]:
    """What each module is; what is below one that is not there is left out."""
    absent = ""
    for name in names:
        if absent and name.startswith(absent):
            continue
        found = code.module(name)
        absent = f"{name}." if found is None else absent
        yield name, found


def walk(
    code: Code, script: Module, *, only_ours: bool = False
) -> Iterator[Module | NoModule | TooMany]:
    """The script and every module of the program that it imports, and those import, each once.

    After a module come the names that it imports and that lead to none. `only_ours`: modules that
    this Python has installed are not followed.
    """
    waiting, seen = [script], {script.file}
    while waiting:
        module = waiting.pop()
        yield module
        for node in iterate_imports(module) if code.is_ours(module.name) or not only_ours else ():
            names = imported_names(module, node)
            if not names:
                yield NoModule(module.place(node))
            for name, found in look_for(code, names):
                if not isinstance(found, Module):
                    yield NoModule(module.place(node), name, found)
                elif found.file not in seen:
                    seen.add(found.file)
                    waiting.append(found)
                    if len(seen) > MOST_MODULES:
                        yield TooMany()
                        return
