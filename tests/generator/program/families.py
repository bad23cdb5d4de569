"""The class Net of a program's module, as the tool reads it."""

from __future__ import annotations

from pathlib import Path

from tf_cluster.program.classes import Family, family
from tf_cluster.program.resolve import ClassHere, Code
from tf_cluster.program.roots import Texts
from tf_cluster.program.scope import Module


def family_of(text: str, **others: str) -> tuple[Code, Family]:
    """Net of train.py with all that it inherits; `others` are the texts of further modules."""
    texts = {"train.py": text, **{f"{name}.py": other for name, other in others.items()}}
    code = Code([Texts(texts, Path(), ".", certain=True)])
    module = code.module("train")
    assert isinstance(module, Module)
    meant = code.named(module, "Net")
    assert isinstance(meant, ClassHere)
    return code, family(code, meant)
