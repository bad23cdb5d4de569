"""What memory tasks need, by the variables that `tf-trainer inspect` wrote down.

The lines are fits of measured peaks (start, steps, saves, end), rounded up: a need that is told too
small is worse than none.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd
from typing import Any, TypeVar

from tf_cluster.exits import RefusedError
from tf_cluster.params.wording import excerpt, kind_of
from tf_cluster.planning.demand import plain
from tf_cluster.planning.plan import Plan
from tf_cluster.printable import cut, printable

MEBIBYTE = 1 << 20
ROLES = {"chief": (700, 1.75), "worker-0": (740, 1.75), "evaluator": (640, 1.75)}
"""MiB that a task takes without a model, and times what it copies: the trainer's
program/memory.py."""
PS = (480, 1.5)
"""The same of a ps, and times its share: the trainer's strategies/step/state_memory.py."""
_MOST_SLOTS = 2
Share = TypeVar("Share")
SHARD_BYTES = 256 << 10
LARGE_SHARD_BYTES = 1 << 30
PART_BYTES = 1 << 30
"""The least bytes of a part of a variable, in-graph and between-graph, and the most of one: the
trainer's strategies/step/parts.py."""
SMALL_STATE_BYTES = 256 << 20
LEAST_MAPPED_BYTES = 4 << 20
MOST_PIECES = 1000
PIECE_BYTES = 32 << 20
PAGE_BYTES = 4096
SHARED = ("float32", "float64", "complex64", "complex128", "int8", "int16", "int64", "uint8")
"""What the trainer copies in memory, and what not: its checkpoint/pieces.py."""


@dataclass(frozen=True)
class ProgramVariable:
    """A variable of the model: `made` is its place in the order in which they are created.

    `whole`: it is never cut in parts.
    """

    name: str
    shape: tuple[int, ...]
    bytes: int
    trainable: bool
    made: int
    dtype: str = "float32"
    whole: bool = False

    @property
    def is_table(self) -> bool:
        """Whether a step moves only its rows: an embedding, by the name that Keras gives it."""
        return self.name.partition("#")[0].endswith("/embeddings")

    @property
    def row_bytes(self) -> int:
        """Bytes of one entry of its first axis."""
        return self.bytes // self.shape[0] if self.shape and self.shape[0] else self.bytes


@dataclass(frozen=True)
class Program:
    """program.json as far as memory goes by it. An example of no known size is None."""

    module: str
    flags: Mapping[str, Any]
    variables: tuple[ProgramVariable, ...]
    example_bytes: int | None
    slots: Mapping[str, int]


@dataclass(frozen=True)
class Need:
    """What tasks of a role need, in bytes, beside what their pods ask for and may have."""

    role: str
    title: str
    bytes: int
    request: int | None
    limit: int | None
    formula: str

    @property
    def fits(self) -> bool:
        """Whether it is within the limit."""
        return self.limit is None or self.bytes <= self.limit

    @property
    def verdict(self) -> str:
        """In words: `needs 3.1Gi of 2Gi`."""
        if not self.fits and self.limit is not None:
            has = plain("memory", Fraction(self.limit))
            return (
                f"TOO LITTLE: {self.title} needs {plain('memory', Fraction(self.bytes))} of {has}"
            )
        if self.request is not None and self.bytes > self.request:
            return "more than it asks for: the node may be short of it"
        return "good"


def read_program(raw: bytes, file: str) -> Program:
    """program.json. Raises RefusedError that names what is wrong."""
    try:
        return _program(_mapping(_parsed(raw), "it"))
    except ValueError as error:
        why = printable(cut(str(error), 200))
        raise RefusedError(
            f"{file} is no program.json of `tf-trainer inspect` ({why}): write it again: "
            "tf-trainer inspect MODULE:CLASS -o program.json"
        ) from None


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno} is no JSON") from None
    except (RecursionError, ValueError):
        raise ValueError("it is no JSON that can be read") from None


def _program(data: Mapping[str, Any]) -> Program:
    version = _said(data, "version", "it")
    if version != 1:
        raise ValueError(f"its version is {excerpt(version)}, not 1")
    size = _said(data, "exampleBytes", "it")
    variables = _list(_said(data, "variables", "it"), "variables")
    slots = _mapping(_said(data, "slots", "it"), "slots")
    return Program(
        module=_text(_said(data, "program", "it"), "program"),
        flags=_mapping(_said(data, "flags", "it"), "flags"),
        variables=tuple(
            _variable(_mapping(one, f"variables[{at}]"), f"variables[{at}]")
            for at, one in enumerate(variables)
        ),
        example_bytes=None if size is None else _size(size, "exampleBytes"),
        slots={name: len(_list(one, f"slots.{name}")) for name, one in slots.items()},
    )


def _variable(data: Mapping[str, Any], where: str) -> ProgramVariable:
    shape = _list(_said(data, "shape", where), f"{where}.shape")
    return ProgramVariable(
        name=_text(_said(data, "name", where), f"{where}.name"),
        shape=tuple(_size(one, f"{where}.shape[{axis}]") for axis, one in enumerate(shape)),
        bytes=_size(_said(data, "bytes", where), f"{where}.bytes"),
        trainable=bool(_said(data, "trainable", where)),
        made=_size(_said(data, "made", where), f"{where}.made"),
        dtype=_text(_said(data, "dtype", where), f"{where}.dtype"),
        whole=bool(data.get("whole", False)),
    )


def _said(data: Mapping[str, Any], key: str, where: str) -> Any:
    if key not in data:
        raise ValueError(f"{where} has no {key}")
    return data[key]


def _mapping(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is {kind_of(value)}, not a mapping")
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{where} is {kind_of(value)}, not a list")
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{where} is {kind_of(value)}, not a text")
    return value


def refuse_another(plan: Plan, program: Program, file: str) -> None:
    """Raise RefusedError if program.json is of another program, or of other flags."""
    own = plan.release.section("program")
    module, script = own.get("module"), own.get("script")
    runs = str(module or script or program.module)
    again = f"write it again: tf-trainer inspect {module or 'MODULE:CLASS'}"
    if runs != program.module:
        why = f"{file} is of {cut(program.module)}, and the training runs {cut(runs)}"
        raise RefusedError(f"{why}: {again} -o {file}")
    for name, value in plan.release.section("flags").items():
        if name not in program.flags or program.flags[name] != value:
            found = cut(json.dumps(program.flags.get(name)))
            asked = cut(json.dumps(value))
            why = f"{file} was made with flags.{cut(name)} {found}, and the training has {asked}"
            raise RefusedError(f"{why}: {again} --flags JSON -o {file}")


def needs(plan: Plan, program: Program) -> list[Need]:
    """What the tasks of each role need; those of a role that need the same, once."""
    train = plan.release.values["train"]
    slots, state = _slots(plan, program), state_bytes(plan, program)
    dense = sum(one.bytes for one in program.variables if not one.is_table)
    of_a_step: list[_Part] = [("dense", 4, dense)]
    if program.example_bytes is not None:
        of_a_step.append(("batch", 4, program.example_bytes * int(train["batchSize"])))
    groups = {group.role: group for group in plan.pods}
    found: list[Need] = []

    def add(role: str, title: str, size: float, formula: str) -> None:
        group = groups[role]
        request, limit = (one.get("memory") for one in (group.requests, group.limits))
        found.append(
            Need(
                role,
                title,
                ceil(size),
                None if request is None else int(request),
                None if limit is None else int(limit),
                formula,
            )
        )

    in_parts = plan.counts["ps"] if plan.release.combination.has_chief else 1
    held = copied(program.variables, state, in_parts)
    for role, title, base, parts in _lines(plan, held, state, of_a_step):
        size = base * MEBIBYTE + sum(factor * amount for _, factor, amount in parts)
        words = "".join(f" + {factor:g} × {word}" for word, factor, _ in parts)
        add(role, title, size, f"{base} MiB{words}")
    if "ps" in groups:
        base, times = PS
        formula = f"{base} MiB + {times:g} × its share of the state"
        for first, last, share in alike(shares(plan, program, slots)):
            title = f"ps-{first}" + (f"…{last}" if last > first else "")
            add("ps", title, base * MEBIBYTE + times * share, formula)
    return found


_Part = tuple[str, float, int]


def model_bytes(program: Program) -> int:
    """Bytes of the model."""
    return sum(one.bytes for one in program.variables)


def state_bytes(plan: Plan, program: Program) -> int:
    """Bytes of the model and of the optimizer's slots."""
    trained = sum(one.bytes for one in program.variables if one.trainable)
    return model_bytes(program) + _slots(plan, program) * trained


def _slots(plan: Plan, program: Program) -> int:
    """How many values the optimizer keeps for each that is trained."""
    return program.slots.get(str(plan.release.values["train"]["optimizer"]["name"]), _MOST_SLOTS)


def copied(variables: Sequence[ProgramVariable], state: int, parts: int = 1) -> int:
    """Bytes that a task with the whole state, or the whole model, has in memory at once.

    A small state it copies. Of a large one it has some pieces, and what it can't use as pages of a
    checkpoint's files: whole variables, and rows where one of so many parts begins within a page.
    """
    if state <= SMALL_STATE_BYTES:
        return state
    larger_pieces = 8 * max(0, ceil(state / MOST_PIECES) - PIECE_BYTES)
    in_memory = sum(
        beside_pages(one, parts) if can_be_mapped(one, state) else one.bytes for one in variables
    )
    return SMALL_STATE_BYTES + larger_pieces + in_memory


def can_be_mapped(one: ProgramVariable, state: int) -> bool:
    """Whether a reader of a checkpoint of a large state uses this variable's values as they lie."""
    if one.dtype not in SHARED or one.bytes < max(LEAST_MAPPED_BYTES, ceil(state / MOST_PIECES)):
        return False
    # Slices, each with those of the slots, must begin at pages: not those of a few wide rows.
    most = max(PIECE_BYTES, ceil(state / MOST_PIECES)) // (1 + _MOST_SLOTS)
    return one.bytes <= most or _page_rows(one) <= max(1, most // max(one.row_bytes, 1))


def beside_pages(one: ProgramVariable, parts: int) -> int:
    """The most bytes of a variable in so many parts that are copied although it can be mapped."""
    parts = max(parts, 2 * ceil(one.bytes / PART_BYTES) - 1)
    return min(one.bytes, (parts - 1) * (_page_rows(one) - 1) * one.row_bytes)


def _page_rows(one: ProgramVariable) -> int:
    """The least rows that are whole pages."""
    return PAGE_BYTES // gcd(one.row_bytes, PAGE_BYTES)


def _lines(
    plan: Plan, held: int, state: int, of_a_step: list[_Part]
) -> Iterator[tuple[str, str, int, list[_Part]]]:
    """Role, title, what it takes without a model, and what grows with what."""
    count = plan.counts["worker"]
    others = f"worker-1…{count - 1}" if count > 2 else "worker-1"
    of_all = {role: ("copied", times, held) for role, (_, times) in ROLES.items()}
    if "chief" in plan.counts:
        yield "chief", "chief-0", ROLES["chief"][0], [of_all["chief"]]
        title = "worker-0" + (f"…{count - 1}" if count > 1 else "")
        yield "worker", title, 610, of_a_step
    elif plan.release.combination.has_ps:
        yield "worker", "worker-0", ROLES["worker-0"][0], [of_all["worker-0"], *of_a_step]
        if count > 1:
            yield "worker", others, 690, of_a_step
    else:
        yield "worker", "worker-0", 610, [("state", 5.45, state), *of_a_step]
        if count > 1:
            yield "worker", others, 610, [("state", 4.1, state), *of_a_step]
    if "evaluator" in plan.counts:
        yield "evaluator", "evaluator-0", ROLES["evaluator"][0], [of_all["evaluator"]]


def shares(plan: Plan, program: Program, slots: int) -> list[int]:
    """Bytes of variables and slots on each ps, as the trainer places them."""
    count = plan.counts["ps"]
    precision = plan.release.values["train"].get("precision")
    in_graph = plan.release.combination.has_chief
    held = [0] * count
    for task, size, one in placed(program.variables, count, in_graph, precision == "float32"):
        held[task] += size * (1 + slots if one.trainable else 1)
    return held


def placed(
    variables: Sequence[ProgramVariable], ps: int, in_graph: bool, cut: bool
) -> Iterator[tuple[int, int, ProgramVariable]]:
    """The ps and the bytes of each variable or part, and whose they are.

    Large ones are cut by rows where `cut`. In-graph: one after the other in the order in which they
    are created. Between-graph: each on the ps with the fewest bytes so far.
    """
    if not in_graph:
        at = [0] * ps
        for one in variables:
            for size in part_sizes(one, ps, LARGE_SHARD_BYTES) if cut else [one.bytes]:
                task = at.index(min(at))
                at[task] += size
                yield task, size, one
        return
    turn, due = 0, 0
    for one in sorted(variables, key=lambda variable: variable.made):
        turn += one.made - due  # variables that the model does not list take turns, too
        due = one.made + 1
        for size in part_sizes(one, ps) if cut else [one.bytes]:
            yield turn % ps, size, one
            turn += 1


def part_sizes(one: ProgramVariable, ps: int, least_bytes: int = SHARD_BYTES) -> list[int]:
    """Bytes of each part of a variable, as the trainer cuts it in parts of so many at least."""
    parts = 1
    if one.shape and not one.whole:
        rows = max(1, one.shape[0])
        parts = max(1, min(ps, rows, ceil(one.bytes / least_bytes)))
        least = ceil(one.bytes / PART_BYTES)
        if least > parts:
            parts = min(ceil(least / ps) * ps, rows)
    if parts == 1:
        return [one.bytes]
    base, more = divmod(one.shape[0], parts)
    return [(base + (index < more)) * one.row_bytes for index in range(parts)]


def alike(held: Sequence[Share]) -> Iterator[tuple[int, int, Share]]:
    """Neighbours with the same share, together: first, last and share."""
    first = 0
    for index in range(1, len(held) + 1):
        if index == len(held) or held[index] != held[first]:
            yield first, index - 1, held[first]
            first = index


def _size(value: Any, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**60:
        raise ValueError(f"{where} is {excerpt(value)}, no whole number of 0 or more")
    return value
