"""Modules that were read before: many params files often have one program, or one base class."""

from collections import OrderedDict

from tf_cluster.program.parse import NotParsed, parsed
from tf_cluster.program.scope import Module

_MOST_BYTES = 64_000
"""Bytes of code whose trees are kept: a tree may take up to 900 times as many."""

_Key = tuple[str, str, str, bytes, bool]
_KEPT: OrderedDict[_Key, Module | NotParsed] = OrderedDict()


def module_of(
    name: str, file: str, path: str, raw: bytes, *, is_package: bool
) -> Module | NotParsed:
    """The module of these bytes; the same one when they were read before. For `name`, … see it."""
    key = (name, file, path, raw, is_package)
    if key in _KEPT:
        _KEPT.move_to_end(key)
        return _KEPT[key]
    tree = parsed(raw)
    one = tree if isinstance(tree, NotParsed) else Module(name, file, path, tree, is_package)
    _KEPT[key] = one
    while sum(len(kept[3]) for kept in _KEPT) > _MOST_BYTES:
        _KEPT.popitem(last=False)
    return one
