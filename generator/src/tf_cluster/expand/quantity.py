"""Kubernetes quantities: `250m`, `1Gi`, `2`, `1e3`."""

import re
from fractions import Fraction
from functools import lru_cache
from typing import Any

MEGABYTE = 10**6
"""Less than this many bytes were meant in another unit."""

# three digits of exponent are all that a number of YAML has; ten would take a machine's memory
_FORM = re.compile(
    r"\+?([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:([eE][-+]?[0-9]{1,3})|([KMGTPE]i|[numkMGTPE]?))",
    re.ASCII,
)
_FACTORS = {
    **{"": Fraction(1), "n": Fraction(1, 10**9), "u": Fraction(1, 10**6), "m": Fraction(1, 1000)},
    **{suffix: Fraction(1000 ** (i + 1)) for i, suffix in enumerate("kMGTPE")},
    **{f"{suffix}i": Fraction(1024 ** (i + 1)) for i, suffix in enumerate("KMGTPE")},
}


@lru_cache(1_000)
def quantity(text: str) -> Fraction:
    """The exact number a quantity stands for. ValueError where it is none."""
    match = _FORM.fullmatch(text)
    if not match:
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    digits, exponent, suffix = match.groups()
    if exponent:
        return Fraction(digits) * Fraction(10) ** int(exponent[1:])
    return Fraction(digits) * _FACTORS[suffix]


def is_quantity(amount: Any) -> bool:
    """Whether a value is a quantity; a number of thousands of digits is none."""
    try:
        quantity(str(amount))
    except ValueError:
        return False
    return True
