"""Which functions and classes the start of a script names, in itself and in what it imports."""

import ast
from collections.abc import Iterator, Sequence

from tf_cluster.program.resolve import ClassHere, Code, FunctionHere
from tf_cluster.program.scope import Function
from tf_cluster.program.tree import Tree

_DEFINITIONS = (*Function, ast.ClassDef)


def reached(code: Code, trees: Sequence[Tree]) -> frozenset[ast.AST]:
    """The definitions of these modules that what runs at their import names, and those name.

    A definition is a function or class that stands in the module itself. The script is among
    `trees`, with modules that it imports. What is called in any other way is left out.
    """
    found: set[ast.AST] = set()
    waiting = [
        (tree, statement)
        for tree in trees
        for statement in tree.module.tree.body
        if not isinstance(statement, _DEFINITIONS) and not tree.never_runs(statement)
    ]
    of = {tree.module.file: tree for tree in trees}
    while waiting:
        tree, statement = waiting.pop()
        for other, definition in _named(code, of, tree, statement):
            if definition not in found:
                found.add(definition)
                waiting.append((other, definition))
    return frozenset(found)


def _named(
    code: Code, of: dict[str, Tree], tree: Tree, statement: ast.AST
) -> Iterator[tuple[Tree, ast.stmt]]:
    """The definitions that a statement names, each with its module."""
    for node in tree.reads.get(statement, ()):
        if isinstance(node, ast.Name) and node.id in tree.definitions:
            yield tree, tree.definitions[node.id]
        elif len(of) > 1 and tree.is_imported(node):
            meant = code.meaning(tree.module, node)
            if isinstance(meant, (ClassHere, FunctionHere)) and meant.module.file in of:
                other = of[meant.module.file]
                if other.definitions.get(meant.node.name) is meant.node:
                    yield other, meant.node
