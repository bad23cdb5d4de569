"""Modules that were read before: many params files often have one program, or one base class."""

from collections import OrderedDict

from tf_cluster.program.parse import NotParsed, parsed
from tf_cluster.program.scope import Module

_MOST_BYTES = 64_000
"""Bytes of code whose trees are kept: a tree may take up to 900 times as many."""
_LEAST_BYTES = 256
"""What a module counts, however little code it has: it takes its place, too."""

_Key = tuple[str, str, str, bytes, bool]


class _Kept:
    """The modules that were used last, within a bound of bytes."""

    def __init__(self) -> None:
        self.modules: OrderedDict[_Key, Module | NotParsed] = OrderedDict()
        self.bytes = 0

    def find(self, key: _Key) -> Module | NotParsed | None:
        """The module of a key, if it is kept."""
        if key in self.modules:
            self.modules.move_to_end(key)
        return self.modules.get(key)

    def keep(self, key: _Key, one: Module | NotParsed) -> None:
        """Keep a module in place of those that were used longest ago, if it has room at all."""
        size = _size(key)
        if size > _MOST_BYTES:
            return
        self.modules[key] = one
        self.bytes += size
        while self.bytes > _MOST_BYTES:
            gone, _ = self.modules.popitem(last=False)
            self.bytes -= _size(gone)


def _size(key: _Key) -> int:
    return max(len(key[3]), _LEAST_BYTES)


_KEPT = _Kept()


def module_of(
    name: str, file: str, path: str, raw: bytes, *, is_package: bool
) -> Module | NotParsed:
    """The module of these bytes; the same one when they were read before. For `name`, … see it."""
    key = (name, file, path, raw, is_package)
    found = _KEPT.find(key)
    if found is not None:
        return found
    tree = parsed(raw)
    one = tree if isinstance(tree, NotParsed) else Module(name, file, path, tree, is_package)
    _KEPT.keep(key, one)
    return one
