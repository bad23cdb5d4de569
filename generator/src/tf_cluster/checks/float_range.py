"""A learning rate that float32 does not hold."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NO_FLOAT32 = Code(
    "TFC410",
    "a learning rate that float32 does not hold (advice)",
    why=(
        "The variables are float32. A smaller rate becomes 0 there, and nothing is learnt; a "
        "larger one is infinite."
    ),
    wrong="train: {optimizer: {learningRate: 1e-50}}",
    right="train: {optimizer: {learningRate: 1e-5}}",
)

_LEAST, _MOST = 2.0**-126, (2 - 2**-23) * 2.0**127
"""The least and the greatest normal number of float32."""
_RATE: Pointer = ("train", "optimizer", "learningRate")


def check(params: Params) -> Iterator[Finding]:
    """Advice on a rate that becomes 0 or infinite."""
    rate = params.value_at(_RATE)
    if isinstance(rate, (int, float)) and not _LEAST <= rate <= _MOST:
        where = params.origin_of(_RATE)
        becomes = "0, which trains nothing" if rate < _LEAST else "infinite"
        message = f"{dotted(where)} is {rate}, and as float32 it is {becomes}"
        fix = "take a rate between 1e-37 and 3e38"
        yield params.finding(where, NO_FLOAT32, message, rate, fix, "advice")
