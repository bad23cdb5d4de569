"""What a user says of nodes: `cpu=16,memory=64Gi,gpu=8`."""

from fractions import Fraction

from tf_cluster.exits import RefusedError
from tf_cluster.expand.quantity import quantity
from tf_cluster.params.spelling import likely
from tf_cluster.planning.demand import GPU, PODS
from tf_cluster.printable import cut

MOST_NODES = 100_000
_FORM = "write it as cpu=16,memory=64Gi,gpu=8"
_KNOWN = ("cpu", "memory", GPU, PODS, "ephemeral-storage")


def parsed_node(text: str) -> dict[str, Fraction]:
    """The amounts of a node. Raises RefusedError."""
    found: dict[str, Fraction] = {}
    for part in text.split(","):
        name, equals, value = (one.strip() for one in part.partition("="))
        if not (name and equals and value):
            raise RefusedError(f"--node: {part!r} says no resource and amount: {_FORM}")
        _refuse_unknown(name)
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


def _refuse_unknown(name: str) -> None:
    """Raise RefusedError for a name that no pod asks for: its amount would count for nothing."""
    if name in _KNOWN or "/" in name or name.startswith("hugepages-"):
        return
    close = likely(name, _KNOWN)
    there = f"there are {', '.join(_KNOWN)}, hugepages-2Mi, and devices such as nvidia.com/gpu"
    fix = f"did you mean {close.word}?" if close else there
    raise RefusedError(f"--node: {cut(name)} is no resource: {fix}")
