"""What a star import of one of Python's own modules binds, of those that programs take whole."""

import collections
import dataclasses
import enum
import functools
import itertools
import math
import pathlib
import typing

_MODULES = {
    one.__name__: frozenset(getattr(one, "__all__", [n for n in dir(one) if n[0] != "_"]))
    for one in (collections, dataclasses, enum, functools, itertools, math, pathlib, typing)
}


def is_given(module: str, name: str) -> bool | None:
    """Whether `from module import *` binds a name; None of a module that is not known."""
    return name in _MODULES[module] if module in _MODULES else None
