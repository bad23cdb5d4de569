"""What can be imported in the trainer's images, and what of the program's imports can't."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tf_cluster.program.resolve import Code
from tf_cluster.program.scope import Module
from tf_cluster.program.tree import is_main_guard, named_modules

_MOST = 20
IMAGE_NAME = "tf-cluster-trainer"
"""The name under which `make image` makes the images; another one may hold anything."""

_OURS = ("tf_cluster_trainer", "tf_cluster_cleanup", "pip", "pkg_resources")
# In the standard library of one Python that an image may have, and not of another.
_STANDARD = (
    *("aifc", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "crypt", "distutils"),
    *("imghdr", "imp", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd"),
    *("sndhdr", "spwd", "sunau", "telnetlib", "tomllib", "uu", "xdrlib", "lib2to3", "binhex"),
    *("_pyrepl", "__main__", "__future__"),
)

# What says in which directories modules are looked for.
_PATHS = (("sys", "path"), ("site", "addsitedir"))


@cache
def image_imports() -> frozenset[str]:
    """The top-level names that the packages of the images' locks bring, and ours."""
    lines = (Path(__file__).parent / "image_imports.txt").read_text(encoding="utf-8").splitlines()
    names = {name for line in lines if not line.startswith("#") for name in line.split()[1:]}
    return frozenset({*names, *_OURS})


def changes_path(module: Module) -> str:
    """Where a module uses sys.path or site, which say where modules are; empty if nowhere."""
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom):
            is_path = node.module == "sys" and any(alias.name == "path" for alias in node.names)
            is_used = is_path or node.module == "site"
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            is_used = (node.value.id.strip("_"), node.attr) in _PATHS
        else:
            is_used = False
        if is_used:
            return str(module.place(node))
    return ""


def not_in_image(code: Code, module: Module) -> Iterator[tuple[str, str]]:
    """Modules that a module surely imports and no image has: each with the import's place."""
    known = {*image_imports(), *_STANDARD, *sys.stdlib_module_names}
    found = 0
    for statement in _surely_run(module):
        is_relative = isinstance(statement, ast.ImportFrom) and statement.level
        if is_relative or not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        for name in named_modules(module, statement):
            top = name.partition(".")[0]
            if top not in known and code.module(name) is None and code.module(top) is None:
                known.add(top)
                found += 1
                if found > _MOST:
                    return
                yield top, module.place(statement)


def _surely_run(module: Module) -> Iterator[ast.stmt]:
    for statement in module.tree.body:
        if is_main_guard(statement) and module.name == "__main__":
            assert isinstance(statement, ast.If)
            yield from statement.body
        yield statement
