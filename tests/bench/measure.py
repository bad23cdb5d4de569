"""What a measure is: samples whose number is fixed beforehand, and the rows told of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tests.bench.rows import Row, Samples

Sample = Mapping[str, float]


@dataclass(frozen=True)
class Measure:
    """One name of `python -m tests.bench NAME`.

    `take(count)` gives that many samples, each a new start of what is measured: a figure for every
    column of `units`. On a cluster it is `take(count, kubeconfig)`. `samples` is how many a record
    has: whoever changes it does so before the next run, not after a look at the last. `minutes` is
    what all of them take on two cores with nothing else on them.
    """

    take: Callable[..., Iterator[Sample]]
    samples: int
    minutes: float
    units: Mapping[str, str]
    rows: Sequence[Row]
    on_cluster: bool = False

    def __post_init__(self) -> None:
        for row in self.rows:
            unknown = set(row.columns) - set(self.units)
            if unknown:
                raise ValueError(f"{row.what}: no column {', '.join(sorted(unknown))}")

    def samples_of(self, found: Iterator[Sample]) -> Samples:
        """All that was found, by column; each is said to who watches as it comes.

        Raises ValueError for one that is not a finite figure for each column.
        """
        columns: dict[str, list[float]] = {column: [] for column in self.units}
        for number, sample in enumerate(found, start=1):
            if set(sample) != set(columns) or not all(map(math.isfinite, sample.values())):
                raise ValueError(f"sample {number} is {dict(sample)}, not figures of {[*columns]}")
            for column, value in sample.items():
                columns[column].append(value)
            words = ", ".join(f"{name} {sample[name]:.4g} {self.units[name]}" for name in columns)
            print(f"  {number}: {words}", file=sys.stderr, flush=True)
        return columns
