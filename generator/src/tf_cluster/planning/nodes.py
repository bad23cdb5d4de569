"""What a user says of nodes: `cpu=16,memory=64Gi,gpu=8`."""

from fractions import Fraction

from tf_cluster.exits import RefusedError
from tf_cluster.expand.quantity import quantity

MOST_NODES = 100_000
_FORM = "write it as cpu=16,memory=64Gi,gpu=8"


def parsed_node(text: str) -> dict[str, Fraction]:
    """The amounts of a node. Raises RefusedError."""
    found: dict[str, Fraction] = {}
    for part in text.split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        if not (name and equals and value):
            raise RefusedError(f"--node: {part!r} says no resource and amount: {_FORM}")
        if name in found:
            raise RefusedError(f"--node: {name} stands there twice")
        try:
            found[name] = quantity(value)
        except ValueError:
            raise RefusedError(f"--node: {value!r} is no amount of {name}: {_FORM}") from None
    missing = [name for name in ("cpu", "memory") if name not in found]
    if missing:
        raise RefusedError(f"--node: {' and '.join(missing)} missing: {_FORM}")
    return found
