"""Relative imports in what is no part of a package: Python always refuses them."""

import ast
from collections.abc import Iterable, Iterator

from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.resolve import absolute
from tf_cluster.program.sure_imports import SureImport

_MOST = 20


def refused_imports(imports: Iterable[SureImport]) -> Iterator[tuple[CodePlace, str, str]]:
    """Imports that lead out of their package: the place, the statement, what to write instead."""
    found = 0
    for one in imports:
        node = one.node
        if isinstance(node, ast.Import) or not node.level or absolute(one.module, node):
            continue
        if found >= _MOST:
            return
        if {"__package__", "__spec__"} & one.module.scope.names.keys():
            continue
        found += 1
        names = ", ".join(ast.unparse(alias) for alias in node.names)
        said = f"from {'.' * node.level}{node.module or ''} import {names}"
        is_alone = node.level == 1 and (one.module.name == "__main__" or not one.module.is_package)
        instead = f"from {node.module} import {names}" if node.module else f"import {names}"
        yield one.module.place(node), said, instead if is_alone and names != "*" else ""
