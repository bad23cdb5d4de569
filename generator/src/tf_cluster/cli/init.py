"""The command `init`."""

from typing import Annotated

import typer

from tf_cluster.cli.common import write


def init(
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="File to write; - is stdout.")
    ] = "params.yaml",
    name: Annotated[
        str | None, typer.Option(help="The training's name. Default: from FILE.")
    ] = None,
    preset: Annotated[str, typer.Option(help="The preset: small, medium or large.")] = "small",
    module: Annotated[
        str, typer.Option(help="Your program, package.module:ClassName.")
    ] = "tf_cluster_trainer.examples.digits:Digits",
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE.")] = False,
) -> None:
    """Write a short params file to start from."""
    from tf_cluster.starter import checked_starter

    text = checked_starter(file=file, name=name, preset=preset, module=module)
    write(text, file, force=force)
