"""What a step at least moves over the links of tasks, by the variables of program.json.

Only what is known: a step reads each dense variable and sends its gradient. The rows that it looks
up in an embedding come on top, and what it computes. Why, and what follows: docs/scale.md.
"""

from dataclasses import dataclass

from tf_cluster.planning.memory import Program, alike, placed
from tf_cluster.planning.plan import Plan

GIGABIT = 118_000_000
"""Bytes a second that a link of 1 Gbit/s carries: headers of frames and of TCP take the rest."""


@dataclass(frozen=True)
class OfPs:
    """Alike ps, by their first and last: bytes that each sends and gets for a worker's step."""

    first: int
    last: int
    read: int
    sent: int

    @property
    def title(self) -> str:
        """`ps-0…3`."""
        return f"ps-{self.first}" + (f"…{self.last}" if self.last > self.first else "")


@dataclass(frozen=True)
class Traffic:
    """Bytes that a worker reads and sends in a step, those of each ps, and who steps together."""

    read: int
    sent: int
    ps: tuple[OfPs, ...]
    workers: int
    lockstep: bool

    @property
    def worker_seconds(self) -> float:
        """Of a step, at 1 Gbit/s: it reads first, and sends what it made of it."""
        return (self.read + self.sent) / GIGABIT

    @property
    def most_steps(self) -> float:
        """A second, of all workers together, at 1 Gbit/s: a link is used both ways at once."""
        return GIGABIT / max(max(one.read, one.sent) for one in self.ps)

    @property
    def waits_below(self) -> float:
        """Seconds: workers that compute for less in a step wait for each other at the ps; or 0.

        Of workers in lockstep it is 0: they wait for `waits`, whatever they compute.
        """
        if self.lockstep:
            return 0.0
        return self._if_much(self.workers / self.most_steps - self.worker_seconds)

    @property
    def waits(self) -> float:
        """Seconds of a step in which a worker in lockstep waits for the others at the ps; or 0."""
        return self._if_much(self.lockstep_seconds - self.worker_seconds) if self.lockstep else 0.0

    def _if_much(self, seconds: float) -> float:
        """0 for a hundredth of what a step moves: parts are never quite even."""
        return seconds if seconds > self.worker_seconds / 100 else 0.0

    @property
    def lockstep_seconds(self) -> float:
        """Of a step of all workers at once: the last to have read has all of its own to send.

        That is the least. If all read at once, they send at once, too, which takes longer.
        """
        of_ps = max(
            max(self.workers * one.read + self.sent, self.read + self.workers * one.sent)
            for one in self.ps
        )
        return max(self.worker_seconds, of_ps / GIGABIT)


def traffic(plan: Plan, program: Program) -> Traffic | None:
    """Of a training with ps and dense variables in float32; of others it is not known."""
    values, combination = plan.release.values, plan.release.combination
    full = values["train"].get("precision") == "float32"
    dense = [one for one in program.variables if not one.is_table and one.bytes]
    if not combination.has_ps or not full or not dense:
        return None
    read, sent = [0] * plan.counts["ps"], [0] * plan.counts["ps"]
    for task, size, one in placed(program.variables, len(read), combination.has_chief, full):
        if not one.is_table:
            read[task] += size
            sent[task] += size if one.trainable else 0
    return Traffic(
        read=sum(read),
        sent=sum(sent),
        ps=tuple(
            OfPs(first, last, *moved)
            for first, last, moved in alike(list(zip(read, sent, strict=True)))
        ),
        workers=plan.counts["worker"],
        lockstep=combination.lockstep,
    )
