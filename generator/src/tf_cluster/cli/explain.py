"""The command `explain`."""

import sys
from typing import Annotated

import typer

from tf_cluster.cli.help import ends_with


def _known(incomplete: str) -> list[str]:
    """The keys and codes that begin so, for a shell's completion."""
    from tf_cluster.explain.explain import known

    return [one for one in known() if one.startswith(incomplete)]


@ends_with("""\
Examples:
  tf-cluster explain
  tf-cluster explain train.optimizer
  tf-cluster explain extraValues.worker.extraEnv
  tf-cluster explain TFC305
  tf-cluster explain TFD105

Exit codes: 0 explained; 2 there is no such key or code.
""")
def explain(
    what: Annotated[
        str,
        typer.Argument(
            metavar="[KEY|CODE]",
            help="A key of params files, or a finding's code.",
            autocompletion=_known,
        ),
    ] = "",
) -> None:
    """Say what a key is and becomes, or what a finding means."""
    from tf_cluster.explain.explain import explained

    sys.stdout.write(explained(what))
