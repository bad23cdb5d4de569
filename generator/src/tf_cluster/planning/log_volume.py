"""What room a run needs on /log, by the variables that `tf-trainer inspect` wrote down."""

from dataclasses import dataclass
from fractions import Fraction

from tf_cluster.planning.demand import amounts, plain
from tf_cluster.planning.memory import Program, model_bytes, state_bytes
from tf_cluster.planning.plan import Plan


@dataclass(frozen=True)
class LogNeed:
    """Bytes of the model, of its state, and of what a run has on /log at most.

    `checkpoints` and `models`: how many there are then. `claim`: bytes that the claim asks for;
    None of one that is yours.
    """

    model: int
    state: int
    checkpoints: int
    models: int
    claim: int | None

    @property
    def bytes(self) -> int:
        """Of checkpoints and exports; events and logs come on top."""
        return self.checkpoints * self.state + self.models * self.model

    @property
    def fits(self) -> bool:
        """Whether the claim asks for as much."""
        return self.claim is None or self.bytes <= self.claim


def log_need(plan: Plan, program: Program) -> LogNeed | None:
    """Of a run with these values; None if what it writes is a script's or a notebook's own.

    An old checkpoint goes when the new one is whole, and stays longer while the evaluator reads it.
    """
    if plan.release.interactive or plan.release.section("program").get("script"):
        return None
    values = plan.release.values
    keep = int(values["train"]["checkpoint"]["keep"])
    has_evaluator = "evaluator" in plan.counts
    best = has_evaluator and plan.release.section("evaluator")["exportBest"]["metric"]
    log = values["storage"]["log"]
    size = None if log.get("existingClaim") else amounts({"size": log.get("size")}).get("size")
    return LogNeed(
        model=model_bytes(program),
        state=state_bytes(plan, program),
        checkpoints=keep + 1 + has_evaluator,
        models=1 + (keep + 1 if best else 0),
        claim=None if size is None else int(size),
    )


def log_text(need: LogNeed) -> str:
    """In words."""
    state, model, room = (
        plain("memory", Fraction(size)) for size in (need.state, need.model, need.bytes)
    )
    exports = "an export" if need.models == 1 else f"{need.models} exports"
    lines = [
        "",
        f"ROOM ON /log, of a state of {state} (the model is {model})",
        f"  {need.checkpoints} checkpoints at most and {exports}: {room}",
    ]
    if not need.fits and need.claim is not None:
        has = plain("memory", Fraction(need.claim))
        lines.append(
            f"  TOO LITTLE: the claim asks for {has} (values: storage.log.size; params: log.size)"
        )
    return "\n".join([*lines, ""])
