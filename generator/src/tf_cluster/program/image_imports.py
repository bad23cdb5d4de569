"""What can be imported in the trainer's images, and who says where modules are."""

import ast
from functools import cache
from pathlib import Path

from tf_cluster.program.scope import Module

IMAGE_NAME = "tf-cluster-trainer"
"""The name under which `make image` makes the images; another one may hold anything."""

_OURS = ("tf_cluster_trainer", "tf_cluster_cleanup", "pip", "pkg_resources")
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
        else:
            is_used = uses_path(node)
        if is_used:
            return str(module.place(node))
    return ""


def uses_path(node: ast.AST) -> bool:
    """`sys.path`, which says where modules are, or site's way to it."""
    if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)):
        return False
    return (node.value.id.strip("_"), node.attr) in _PATHS
