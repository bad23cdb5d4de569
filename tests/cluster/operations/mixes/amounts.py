"""How much of a node a pod asks for, in whole numbers, and as Kubernetes writes it."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

GPU = "nvidia.com/gpu"


@dataclass(frozen=True)
class Amounts:
    """Thousandths of a CPU, MiB of memory, GPUs."""

    cpu: int = 0
    memory: int = 0
    gpus: int = 0

    def __add__(self, other: Amounts) -> Amounts:
        return Amounts(self.cpu + other.cpu, self.memory + other.memory, self.gpus + other.gpus)

    def __mul__(self, factor: float) -> Amounts:
        """GPUs are whole: they are rounded up."""
        gpus = -int(-self.gpus * factor // 1)
        return Amounts(int(self.cpu * factor), int(self.memory * factor), gpus)

    def most(self, other: Amounts) -> Amounts:
        """The greater of each."""
        return Amounts(
            max(self.cpu, other.cpu), max(self.memory, other.memory), max(self.gpus, other.gpus)
        )


def total(amounts: list[Amounts]) -> Amounts:
    """The sum of a list."""
    return sum(amounts, Amounts())


def quantities(rng: Random, amounts: Amounts) -> dict[str, str]:
    """Quantities, each in one of the ways people write it; what is 0 is left out."""
    written = {}
    if amounts.cpu:
        written["cpu"] = rng.choice([f"{amounts.cpu}m", f"{amounts.cpu / 1000:g}"])
    if amounts.memory:
        written["memory"] = rng.choice(
            [f"{amounts.memory}Mi", f"{amounts.memory / 1024:.10g}Gi", str(amounts.memory << 20)]
        )
    if amounts.gpus:
        written[GPU] = str(amounts.gpus)
    return written
