"""The command `presets`."""

import sys
from typing import Annotated

import typer

from tf_cluster.cli.common import TextOrJson
from tf_cluster.cli.help import ends_with


@ends_with("""\
Examples:
  tf-cluster presets
  tf-cluster presets --format json

Exit codes: 0 printed; 2 wrong usage.
""")
def presets(
    form: Annotated[
        TextOrJson, typer.Option("--format", metavar="FORMAT", help="Print as text or json.")
    ] = TextOrJson.TEXT,
) -> None:
    """Print what the presets small, medium and large decide."""
    from tf_cluster.expand.preset_table import preset_json, preset_text

    sys.stdout.write(preset_json() if form is TextOrJson.JSON else preset_text())
