"""The command `init`."""

from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from tf_cluster.cli.common import write
from tf_cluster.cli.help import ends_with
from tf_cluster.expand.preset import DEFAULT_PRESET, PRESETS
from tf_cluster.params.wording import either

Preset = Enum("Preset", [(name, name) for name in PRESETS], type=str)  # type: ignore[misc]
_DEFAULT = Preset(DEFAULT_PRESET)


@ends_with("""\
Examples:
  tf-cluster init
  tf-cluster init digits.params.yaml --preset medium
  tf-cluster init --module nets.digits:Digits

Exit codes: 0 written; 2 FILE exists, or a choice that is not possible.
""")
def init(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="File to write; - is stdout.")
    ] = "training.params.yaml",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The training's name, else made of FILE's.")
    ] = None,
    preset: Annotated[
        Preset, typer.Option(metavar="PRESET", help=f"How many tasks: {either(PRESETS)}.")
    ] = _DEFAULT,
    module: Annotated[
        str, typer.Option(metavar="MODULE", help="Your program, as package.module:ClassName.")
    ] = "tf_cluster_trainer.examples.digits:Digits",
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write a short params file to start from."""
    from tf_cluster.starter import SCHEMA, checked_starter

    here = (Path(file).parent / SCHEMA).is_file()
    text = checked_starter(
        file=file, name=name, preset=preset.value, module=module, has_schema=here
    )
    write(text, file, force=force, then=("tf-cluster", "run", file))
