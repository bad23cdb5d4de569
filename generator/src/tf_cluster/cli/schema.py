"""The command `schema`."""

import sys
from enum import Enum
from typing import Annotated

import typer

from tf_cluster.cli.help import ends_with


class Which(str, Enum):
    """The files that have a schema."""

    PARAMS = "params"
    VALUES = "values"


@ends_with("""\
Examples:
  tf-cluster schema > params.schema.json
  tf-cluster schema values

An editor with a YAML language server completes the keys of a file whose first line is
  # yaml-language-server: $schema=params.schema.json
`tf-cluster init` writes that line where this file is.

Exit codes: 0 printed; 2 wrong usage.
""")
def schema(
    which: Annotated[
        Which, typer.Argument(metavar="[params|values]", help="Of params files, or the chart's.")
    ] = Which.PARAMS,
) -> None:
    """Print the JSON schema that an editor completes keys by."""
    from tf_cluster.params.schema_files import schema_text

    sys.stdout.write(schema_text(which.value))
