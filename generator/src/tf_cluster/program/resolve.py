"""What a name in the program's code stands for, through assignments, imports and modules."""

import ast
import builtins
import posixpath
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.known import module_of
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.roots import MOST_BYTES, Directory, Root, UnreadableError
from tf_cluster.program.scope import Function, Module
from tf_cluster.program.standard_stars import is_given


@dataclass(frozen=True)
class Unknown:
    """What can't be known without running the code; `why` is for --explain."""

    why: str


@dataclass(frozen=True)
class Namespace(Unknown):
    """A directory without __init__.py: its import runs nothing."""


@dataclass(frozen=True)
class Missing:
    """What is surely not there."""


@dataclass(frozen=True)
class ClassHere:
    """A class of a module that was read."""

    module: Module
    node: ast.ClassDef


@dataclass(frozen=True)
class Elsewhere:
    """A thing of a module that was not read, by its full name: `dataclasses.dataclass`."""

    name: str


@dataclass(frozen=True)
class FunctionHere:
    """A function of a module that was read."""

    module: Module
    node: ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class ValueHere:
    """An expression of a module that was read."""

    module: Module
    node: ast.expr


Meaning = ClassHere | FunctionHere | ValueHere | Elsewhere | Unknown | Missing

# What every Python has in itself, or has imported before it looks for the program.
_AT_START = (
    *("_thread", "abc", "builtins", "codecs", "encodings", "errno", "gc"),
    *("io", "itertools", "marshal", "os", "posix", "site", "stat", "sys", "time", "zipimport"),
)
_DEEPEST = 20
_MOST_STARS = 10
_MOST_LOOKS = 60_000
"""Names that are looked for in modules, for one params file: each takes some microseconds."""


@dataclass
class Code:
    """The program's code: directories in the order in which Python looks in them.

    `modules` are those that were read, or not, by dotted name. `left` is how many bytes may still
    be read; `type_parts` counts the parts of types that were looked at. `plain` says of classes
    whether they are new types, and no more. `looks` is how many names may still be looked for.
    """

    roots: Sequence[Root]
    modules: dict[str, Module | NotParsed | Unknown | None] = field(default_factory=dict)
    root_of: dict[str, Root] = field(default_factory=dict)
    places: dict[str, CodePlace] = field(default_factory=dict)
    left: int = MOST_BYTES
    type_parts: int = 0
    plain: dict[ast.ClassDef, bool] = field(default_factory=dict)
    looks: int = _MOST_LOOKS
    _shadowed: dict[str, bool] = field(default_factory=dict)
    _found: dict[str, Module | NotParsed | Unknown | Missing | None] = field(default_factory=dict)
    _names: dict[tuple[str, str], tuple[int, Meaning]] = field(default_factory=dict)

    def module(self, name: str) -> Module | NotParsed | Unknown | Missing | None:
        """A module by its dotted name.

        None: it is not among the code, so it may be installed. Missing: its package is there, and
        it is not in it.
        """
        if name not in self._found:
            self._found[name] = self._looked_for(name)
        return self._found[name]

    def _looked_for(self, name: str) -> Module | NotParsed | Unknown | Missing | None:
        top = name.partition(".")[0]
        if self.is_shadowed(name):
            return Unknown(f"{top} is a module of Python itself, and one of the program")
        if is_standard(name):
            return Unknown(f"{top} is a module of Python itself")
        for root in self.roots:
            try:
                found = self._in(root, name)
            except UnreadableError as error:
                return Unknown(f"{name}: {error}")
            if found is not None:
                return found
        return None

    def setter_of(self, attribute: str) -> Module | None:
        """A module that was read and sets this attribute, or may, of whatever object."""
        read = (one for one in self.modules.values() if isinstance(one, Module))
        return next(
            (one for one in read if attribute in one.attributes_set or one.sets_any_attribute), None
        )

    def is_shadowed(self, name: str) -> bool:
        """Whether the program has a module by the name of one of Python's own.

        Python looks in the script's directory first, but not for what it has imported before.
        """
        top = name.partition(".")[0]
        if top not in self._shadowed:
            own = (root for root in self.roots if not isinstance(root, Directory) or root.inside)
            may_be = is_standard(top) and top not in _AT_START
            self._shadowed[top] = may_be and any(_has_module(root, top) for root in own)
        return self._shadowed[top]

    def _in(self, root: Root, name: str) -> Module | NotParsed | Unknown | Missing | None:
        parts = name.split(".")
        path = ""
        for depth, part in enumerate(parts):
            path = posixpath.join(path, part)
            last = depth == len(parts) - 1
            package = posixpath.join(path, "__init__.py")
            raw = root.read(package) if root.has_folder(path) else None
            if raw is not None:
                if last:
                    return self._read(root, name, package, raw, is_package=True)
                if b"__path__" in raw:
                    return Unknown(f"{root.shown(package)} may look for its modules elsewhere")
                continue
            module = path + ".py"
            raw = root.read(module)
            if raw is not None:
                return self._read(root, name, module, raw) if last else Missing()
            if root.has_folder(path):
                if last:
                    return Namespace(f"{name} is a directory without __init__.py")
                continue  # a namespace package
            if root.has_compiled(path):
                return Unknown(f"{name} is compiled")
            if depth and root.read(posixpath.join(parts[0], "__init__.py")) is not None:
                return Missing()
            return None
        return None

    def is_ours(self, name: str) -> bool:
        """Whether a module is the program's own, not one that this Python has installed."""
        root = self.root_of.get(name)
        return not isinstance(root, Directory) or root.inside

    def holder(self, package: str) -> Root:
        """The directory that has a package."""
        path = package.replace(".", "/")
        held = (root for root in self.roots if root.has_folder(path))
        return next(held, self.roots[0])

    def siblings(self, name: str) -> list[str]:
        """The modules beside one that is not there, by their full names."""
        package = name.rpartition(".")[0]
        if not package:
            return []
        path = package.replace(".", "/")
        return [f"{package}.{one}" for one in self.holder(package).modules(path)]

    def script(self, root: Root, path: str) -> Module | NotParsed | Unknown | None:
        """The script at `path` of a root; None if it is not there."""
        try:
            raw = root.read(path)
        except UnreadableError as error:
            return Unknown(f"{path}: {error}")
        return None if raw is None else self._read(root, "__main__", path, raw)

    def _read(
        self, root: Root, name: str, path: str, raw: bytes, *, is_package: bool = False
    ) -> Module | NotParsed | Unknown:
        known = self.modules.get(name)
        if known is not None:
            return known
        shown = root.shown(path)
        self.left -= len(raw)
        one: Module | NotParsed | Unknown
        if self.left < 0:
            one = Unknown(f"{shown}: there is too much code to read it all")
        else:
            one = module_of(name, shown, root.located(path), raw, is_package=is_package)
        self.modules[name] = one
        self.root_of[name] = root
        self.places[name] = CodePlace(shown, root.located(path), 1)
        return one

    def meaning(self, module: Module, node: ast.expr, depth: int = 0) -> Meaning:
        """What an expression of module level stands for."""
        if depth > _DEEPEST:
            return Unknown("names lead in a circle")
        if isinstance(node, ast.Name):
            return self.named(module, node.id, depth + 1)
        if isinstance(node, ast.Attribute):
            whole = self.meaning(module, node.value, depth + 1)
            if not isinstance(whole, Elsewhere):
                return whole if isinstance(whole, Unknown) else Unknown("an attribute of a value")
            if self.is_shadowed(whole.name):
                return Unknown(f"{whole.name} is Python's, or the program's")
            inner = None if is_standard(whole.name) else self.module(whole.name)
            if isinstance(inner, Module):
                found = self.named(inner, node.attr, depth + 1)
                if not isinstance(found, Missing):
                    return found
            return Elsewhere(f"{whole.name}.{node.attr}")
        return ValueHere(module, node)

    def named(self, module: Module, name: str, depth: int = 0) -> Meaning:
        """What a name of a module stands for; Missing if the module surely has no such name."""
        if depth > _DEEPEST:
            return Unknown("names lead in a circle")
        key = (module.name, name)
        known_at, known = self._names.get(key, (_DEEPEST, None))
        # What is unknown from here may be known from nearer the start of a long way.
        if known is not None and (known_at <= depth or not isinstance(known, Unknown)):
            return known
        self.looks -= 1
        if self.looks < 0:
            return Unknown(f"{module.file}: there are too many names to look for")
        found = self._looked_up(module, name, depth)
        self._names[key] = depth, found
        return found

    def _looked_up(self, module: Module, name: str, depth: int) -> Meaning:
        scope = module.scope
        if len(scope.stars) > _MOST_STARS:
            return Unknown(f"{module.file} has too many star imports")
        binding = scope.only(name)
        if binding is None:
            return self._unbound(module, name, depth)
        for star in scope.stars:
            if not isinstance(self._star(module, star, name, depth), Missing):
                return Unknown(f"{module.place(star)} may bind {name} again")
        node = binding.node
        if isinstance(node, ast.ClassDef):
            return ClassHere(module, node)
        if isinstance(node, Function):
            return FunctionHere(module, node)
        if isinstance(node, ast.Import):
            return _imported(node, name)
        if isinstance(node, ast.ImportFrom):
            return self._imported_from(module, node, name, depth)
        if binding.value is None:
            return Unknown(f"{module.place(node)} unpacks a value into {name}")
        return self.meaning(module, binding.value, depth + 1)

    def _unbound(self, module: Module, name: str, depth: int) -> Meaning:
        scope = module.scope
        if name in scope.names:
            place = module.place(scope.names[name][0].node)
            return Unknown(f"{place}: {name} depends on what runs")
        for star in scope.stars:
            found = self._star(module, star, name, depth)
            if not isinstance(found, Missing):
                return found
        if scope.is_open:
            return Unknown(f"{module.file} may make names as it runs")
        if hasattr(builtins, name):
            return Elsewhere(f"builtins.{name}")
        return Missing()

    def _star(self, module: Module, star: ast.ImportFrom, name: str, depth: int) -> Meaning:
        source = absolute(module, star)
        other = self.module(source) if source else None
        of_python = None if self.is_shadowed(source) else is_given(source, name)
        if of_python is not None:
            return Elsewhere(f"{source}.{name}") if of_python else Missing()
        if not isinstance(other, Module):
            return Unknown(f"{module.place(star)} imports all of {source or 'a package'}")
        is_taken = other.gives_by_star(name)
        if is_taken is None:
            return Unknown(f"{module.place(star)} imports what {source} lists")
        if not is_taken or depth > _DEEPEST:
            return Missing()
        return self._starred(other, name, depth)

    def _starred(self, other: Module, name: str, depth: int) -> Meaning:
        found = self.named(other, name, depth + 1)
        is_builtin = isinstance(found, Elsewhere) and found.name == f"builtins.{name}"
        return Missing() if is_builtin and name not in other.scope.names else found

    def _imported_from(
        self, module: Module, node: ast.ImportFrom, name: str, depth: int
    ) -> Meaning:
        source = absolute(module, node)
        if not source:
            return Unknown(f"{module.place(node)} imports from outside its package")
        own = next((alias.name for alias in node.names if (alias.asname or alias.name) == name), "")
        if is_standard(source) and not self.is_shadowed(source):
            return Elsewhere(f"{source}.{own}")
        other = self.module(source)
        if isinstance(other, Module):
            found = self.named(other, own, depth + 1)
            if isinstance(found, Missing) or (
                isinstance(found, Elsewhere) and found.name == f"builtins.{own}"
            ):
                return Elsewhere(f"{source}.{own}")  # a module of that package, perhaps
            return found
        if isinstance(other, (Unknown, NotParsed)):
            return Unknown(f"{module.place(node)}: {source} was not read")
        return Elsewhere(f"{source}.{own}")


def is_standard(name: str) -> bool:
    """Whether a module is one of Python's own, by its name."""
    return name.partition(".")[0] in sys.stdlib_module_names


def _has_module(root: Root, name: str) -> bool:
    try:
        files = (f"{name}.py", f"{name}/__init__.py")
        return any(root.read(file) is not None for file in files)
    except UnreadableError:
        return True


def _imported(node: ast.Import, name: str) -> Elsewhere:
    for alias in node.names:
        if alias.asname == name:
            return Elsewhere(alias.name)
    return Elsewhere(name)


def absolute(module: Module, node: ast.ImportFrom) -> str:
    """The full name of the module that an import names; empty where it leads out of its package."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    if module.name == "__main__":
        return ""
    up = node.level - (1 if module.is_package else 0)
    if up >= len(parts):
        return ""
    parts = parts[: len(parts) - up]
    return ".".join([*parts, *([node.module] if node.module else [])])
