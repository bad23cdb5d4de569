"""Flags that a program declares, and what of a run's flags is refused before anything trains."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import flags as program_flags
from tf_cluster_trainer.program.base import Program
from tf_cluster_trainer.program.context import Flags
from tf_cluster_trainer.protocol import Failure, Ready

from tests.support.children import Children

SCHEMAS = Path(program_flags.__file__).parents[1] / "schemas"


@dataclass(frozen=True)
class Declared:
    vocabulary: str
    layers: int = 3
    dropout: float = 0.5
    augment: bool = False
    activation: Literal["relu", "tanh"] = "relu"
    widths: tuple[int, ...] = (64,)
    names: list[str] = field(default_factory=list)
    limit: int | None = None

    def __post_init__(self) -> None:
        if self.dropout >= 1:
            raise ValueError("dropout has to be less than 1")


class Declaring(Program):
    flags = Declared


def read(**values: Any) -> Any:
    return program_flags.of_run(Declaring(), values)


def test_flags_are_an_instance_of_what_the_program_declares() -> None:
    flags = read(vocabulary="a.txt", layers=4, dropout=0, widths=[8, 4], names=["x"], limit=None)
    assert flags == Declared("a.txt", 4, 0.0, False, "relu", (8, 4), ["x"], None)
    assert type(flags.dropout) is float
    with pytest.raises(FrozenInstanceError):
        flags.layers = 5


def test_a_whole_number_that_came_as_a_decimal_is_whole() -> None:
    """JSON has one type of number."""
    assert type(read(vocabulary="", layers=4.0).layers) is int


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"layer": 3}, "flags.layer is not declared by the program (did you mean layers?)"),
        (
            {"zebra": 3},
            "flags.zebra is not declared by the program; it has vocabulary, layers, dropout, "
            "augment, activation, widths, names, limit",
        ),
        ({"layers": "3"}, 'flags.layers is "3", not a whole number'),
        ({"layers": 2.5}, "flags.layers is 2.5, not a whole number"),
        ({"layers": True}, "flags.layers is true, not a whole number"),
        ({"dropout": "0.5"}, 'flags.dropout is "0.5", not a number'),
        ({"dropout": False}, "flags.dropout is false, not a number"),
        ({"augment": 1}, "flags.augment is 1, not true or false"),
        ({"vocabulary": 7}, "flags.vocabulary is 7, not a text"),
        ({"activation": "gelu"}, 'flags.activation is "gelu", not "relu" or "tanh"'),
        ({"widths": 3}, "flags.widths is 3, not a list, each a whole number"),
        ({"widths": [3, "4"]}, 'flags.widths is [3, "4"], not a list, each a whole number'),
        ({"limit": "all"}, 'flags.limit is "all", not a whole number or null'),
        ({"layers": None}, "flags.layers is null, not a whole number"),
    ],
)
def test_a_flag_that_does_not_fit_is_named(values: dict[str, Any], words: str) -> None:
    with pytest.raises(ProgramError) as error:
        read(**{"vocabulary": "a.txt", **values})
    assert str(error.value) == words


def test_all_that_is_wrong_is_said_at_once() -> None:
    with pytest.raises(ProgramError) as error:
        read(layer=3, dropout="much")
    assert str(error.value) == (
        "flags.layer is not declared by the program (did you mean layers?); "
        'flags.vocabulary is missing: a text; flags.dropout is "much", not a number'
    )


def test_the_programs_own_check_is_told() -> None:
    with pytest.raises(HookError, match="ValueError: dropout has to be less than 1"):
        read(vocabulary="a.txt", dropout=1.5)


def test_flags_may_have_the_names_of_settings() -> None:
    @dataclass(frozen=True)
    class Same:
        steps: int = 1
        settings: str = ""

    class Naming(Program):
        flags = Same

    assert program_flags.of_run(Naming(), {"steps": 7}) == Same(7)


def declaring(declared: Any) -> Program:
    program = Program()
    program.flags = declared
    return program


@dataclass
class CanBeChanged:
    units: int = 1


@dataclass(frozen=True)
class HasAMapping:
    units: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class HasAnotherDefault:
    units: int = None  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ({"units": 1}, "has to name a dataclass"),
        (CanBeChanged, "frozen=True"),
        (HasAMapping, r"HasAMapping.units has the type dict\[str, int\]; flags can be str, int"),
        (HasAnotherDefault, "HasAnotherDefault.units: the default is None, not a whole number"),
    ],
)
def test_a_declaration_that_can_not_be_used_is_named(declared: Any, words: str) -> None:
    with pytest.raises(ProgramError, match=words):
        program_flags.of_run(declaring(declared), {})


def test_a_class_that_stands_as_a_type_alone_is_refused() -> None:
    class Typed(Program):
        flags: Declared

    class Inherits(Typed):
        pass

    class Given(Typed):
        flags = Declared

    class Own(Typed):
        def __init__(self) -> None:
            self.flags = Declared

    for program in (Typed(), Inherits()):
        with pytest.raises(
            ProgramError, match=r"Typed has the line flags: Declared, .* = Declared"
        ):
            program_flags.of_run(program, {"unit": 1})
    for given in (Given(), Own()):
        assert program_flags.of_run(given, {"vocabulary": ""}).layers == 3


def test_a_program_that_declares_nothing_has_what_the_run_has() -> None:
    flags = program_flags.of_run(Program(), {"anything": {"deep": 1}})
    assert isinstance(flags, Flags)
    assert flags.anything == {"deep": 1}
    assert program_flags.as_json(flags) == {"anything": {"deep": 1}}


def test_flags_that_were_left_out_are_recorded() -> None:
    flags = read(vocabulary="a.txt", widths=[1])
    assert program_flags.as_json(flags) == {**asdict(Declared("a.txt")), "widths": (1,)}


def test_a_wrong_flag_ends_the_chief_before_any_other_task_is_needed(lonely: Children) -> None:
    child = lonely.chief(flags={"unit": 32, "units": "64"})
    assert child.exit_code() == exit_codes.CONFIG, child.tail()
    assert not child.of(Ready)
    assert child.of(Failure)[0].message == (
        "flags.unit is not declared by the program (did you mean units?); "
        'flags.units is "64", not a whole number'
    )


def test_the_run_keeps_settings_and_flags_of_its_last_start(world: Children) -> None:
    for steps in (5, 9):
        chief = world.chief(run_id="kept", steps=steps)
        chief.wait_for(Ready)
        chief.go()
        assert chief.exit_code() == exit_codes.DONE, chief.tail()
    kept = json.loads((world.run_dir("kept") / "settings.json").read_text())
    assert (kept["train"]["steps"], kept["run"]["id"]) == (9, "kept")
    assert kept["flags"] == {"units": 64}
    schema = json.loads((SCHEMAS / "training.schema.json").read_text())
    jsonschema.validate(kept, schema)
