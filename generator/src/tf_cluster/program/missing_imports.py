"""What the program surely imports of its own, and that is not among its files."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from types import NoneType

from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.image_imports import image_imports
from tf_cluster.program.resolve import Code, Missing, is_standard
from tf_cluster.program.roots import Texts
from tf_cluster.program.scope import Module
from tf_cluster.program.sure_imports import SureImport
from tf_cluster.program.tree import named_modules

_MOST = 20
_MOST_LOOKS = 300
_MOST_IMPORTS = 1_000
# With one of these in any file, modules may come from elsewhere.
_OTHER_WAYS = re.compile(r"\bmodules\b|__path__|meta_path|path_hooks|__import__|\bexec\b|importlib")

# With one of these a module may get names that no statement shows.
_SETS = re.compile(r"setattr|\bvars\(\w|__dict__|global_enum|f_globals")


@dataclass(frozen=True)
class Lacking:
    """What an import at `place` asks for in vain: a module, or a name of a module.

    `files` are those that would bring it and were not named, though they are there. `sure`: no
    other place can have it. `module` is the one that lacks a name.
    """

    name: str
    place: CodePlace
    files: tuple[str, ...] = ()
    sure: bool = True
    module: Module | None = None


def missing_imports(code: Code, imports: Sequence[SureImport]) -> Iterator[Lacking]:
    """What the program's files lack: each module or name once, with the place of its import."""
    first = code.roots[0]
    if not (isinstance(first, Texts) and first.certain):
        return
    other_ways = any(_OTHER_WAYS.search(text) for text in first.texts.values())
    told: set[str] = set()
    for one in islice(_lacking(code, first, imports), _MOST_LOOKS):
        if (other_ways and not one.files) or one.name in told or len(told) >= _MOST:
            continue
        told.add(one.name)
        yield one


def _lacking(code: Code, first: Texts, imports: Sequence[SureImport]) -> Iterator[Lacking]:
    given = _set_outside(code, first)
    for one in islice(imports, _MOST_IMPORTS):
        place = one.module.place(one.node)
        for source in islice(named_modules(one.module, one.node), _MOST):
            top = source.partition(".")[0]
            if is_standard(top) or top in image_imports():
                continue
            found = code.module(source)
            if isinstance(found, Module):
                yield from _names(code, found, one, given)
            elif isinstance(found, Missing):
                if first.has_folder(top):
                    yield Lacking(source, place, _forgotten(code, [source]))
            else:
                yield from _beside(code, source, one)


def _beside(code: Code, source: str, one: SureImport) -> Iterator[Lacking]:
    """A module, or modules of a namespace package, that other files would bring."""
    place = one.module.place(one.node)
    inner = [f"{source}.{name}" for name in one.names]
    if code.module(source) is None and _forgotten(code, [source]):
        yield Lacking(source, place, _forgotten(code, [source, *inner]), sure=False)
        return
    for name in inner:
        files = _forgotten(code, [name])
        if files:
            yield Lacking(name, place, files, sure=False)


def _names(
    code: Code, found: Module, one: SureImport, given: frozenset[str] | None
) -> Iterator[Lacking]:
    """Names that a module of the files has not; `given` are those that it may get from outside."""
    for name in one.names:
        full = f"{found.name}.{name}"
        if isinstance(code.module(full), Missing) and _lacks(code, found, name, one):
            files = _forgotten(code, [full]) if found.is_package else ()
            if files or (given is not None and name not in given):
                yield Lacking(full, one.module.place(one.node), files, module=found)


def _lacks(code: Code, found: Module, name: str, one: SureImport) -> bool:
    """Whether a module surely has no such name of its own."""
    if name.startswith("__"):
        return False
    binding = found.scope.only(name)
    is_own = binding is not None and binding.node is one.node  # `from . import name` in a package
    return is_own or isinstance(code.named(found, name), Missing)


def _set_outside(code: Code, first: Texts) -> frozenset[str] | None:
    """Names that some module may have besides; None if they can't be known.

    They are the attributes that some code sets, of whatever object.
    """
    if any(_SETS.search(text) for text in first.texts.values()):
        return None
    modules = (one for one in code.modules.values() if isinstance(one, Module))
    return frozenset().union(*(one.attributes_set for one in modules))


def _forgotten(code: Code, names: Iterable[str]) -> tuple[str, ...]:
    """The files of modules, and of their packages, that are there but not among the files."""
    roots = [root for root in code.roots if isinstance(root, Texts)]
    parts = [part for name in names for part in accumulate(name.split("."), "{}.{}".format)]
    lacking = [part for part in parts if isinstance(code.module(part), (Missing, NoneType))]
    files = (root.forgotten(part) for root in roots for part in lacking)
    return tuple(dict.fromkeys(file for file in files if file))
