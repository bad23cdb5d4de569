"""Where the parsers of a script are made: in itself, or in a module that it imports."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from tf_cluster.program.argv import imported_modules
from tf_cluster.program.ends import ends_of
from tf_cluster.program.resolve import Code, Unknown
from tf_cluster.program.runs import Runs
from tf_cluster.program.scope import Module
from tf_cluster.program.tree import Tree, called_name


@dataclass(frozen=True)
class Parsers:
    """The calls that make parsers, each with its module.

    `trees`, by the names of their files, are the modules that may call for one, the script first;
    `runs` says what of them surely runs. `modules` are all of the program that were read.
    """

    made: Sequence[tuple[Tree, ast.Call]]
    trees: dict[str, Tree]
    runs: Runs
    modules: Sequence[Module]


def find_parsers(code: Code, script: Module) -> Parsers | Unknown:
    """Those of the script; if it makes none, those that it surely makes by modules it imports.

    Unknown where it may make one by a module that was not read, besides those that were.
    """
    tree = Tree(script)
    made = [(tree, call) for call in _made(script)]
    modules = list(imported_modules(code, script))
    read = [one for one in modules if isinstance(one, Module)]
    others = [] if made else [one for one in read if one is not script]
    imported = [*map(Tree, others)] if any(map(_made, others)) else []
    trees = {one.module.file: one for one in (tree, *imported)}
    ends = ends_of(read)
    for one in trees.values():
        one.ends = ends
    runs = Runs(code, tree, trees)
    made += [
        (one, call) for one in imported for call in _made(one.module) if runs.surely(one, call)
    ]
    unread = next((one for one in modules if isinstance(one, Unknown)), None)
    return unread if made and unread else Parsers(made, trees, runs, read)


def parser_elsewhere(code: Code, script: Module) -> str:
    """Where a module that the script imports makes a parser; empty if none does."""
    for module in imported_modules(code, script):
        if isinstance(module, Module) and module is not script:
            for call in _made(module):
                return module.place(call)
    return ""


def _made(module: Module) -> list[ast.Call]:
    """The calls of ArgumentParser, under that name or one that an import gives it."""
    names = {"ArgumentParser"}
    for node in module.nodes:
        if isinstance(node, ast.ImportFrom) and node.module == "argparse":
            names |= {one.asname for one in node.names if one.asname and one.name in names}
    return [
        node for node in module.nodes if isinstance(node, ast.Call) and called_name(node) in names
    ]
