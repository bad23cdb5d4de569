"""The command `tf-cluster`: reads arguments and prints. Each command has a file beside this one.

Data goes to stdout, messages to stderr. Exit codes are in exits.py.
"""

import sys
from typing import Annotated

import typer

from tf_cluster import __version__, exits
from tf_cluster.cli.common import tell
from tf_cluster.cli.convert import convert
from tf_cluster.cli.explain import explain
from tf_cluster.cli.generate import generate
from tf_cluster.cli.help import HelpfulCommand, HelpfulGroup, epilog_of
from tf_cluster.cli.init import init
from tf_cluster.cli.plan import plan
from tf_cluster.cli.presets import presets
from tf_cluster.cli.run import run
from tf_cluster.cli.schema import schema
from tf_cluster.cli.validate import validate
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable
from tf_cluster.streams import GoneError, use_streams

_EPILOG = """\
From nothing to a training in a cluster:
  tf-cluster init digits.params.yaml
  tf-cluster run digits.params.yaml
  tf-cluster generate digits.params.yaml -o digits.values.yaml
  helm install digits charts/tf-cluster -f digits.values.yaml

Exit codes: 0 good; 1 findings, or a training that failed; 2 wrong usage, a file that can't be \
read or written, or a bug.

--install-completion completes words in your shell. All keys: docs/params.md.
"""

app = typer.Typer(
    name="tf-cluster",
    cls=HelpfulGroup,
    help="Train with TensorFlow: from a short params file to a Helm chart's values, or here.",
    epilog=_EPILOG,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def main() -> None:
    """Run the command and exit. An unexpected exception is a bug: traceback, exit 2."""
    use_streams()
    try:
        try:
            app(prog_name="tf-cluster")
        finally:
            sys.stdout.flush()
    except GoneError:
        sys.exit(exits.TROUBLE)
    except RefusedError as refused:
        tell(f"tf-cluster: {printable(str(refused))}")
        sys.exit(exits.TROUBLE)
    except KeyboardInterrupt:
        sys.exit(exits.INTERRUPTED)
    except Exception:
        import traceback

        traceback.print_exc()
        tell(f"tf-cluster {__version__}: this is a bug in tf-cluster")
        sys.exit(exits.TROUBLE)


def _version(asked: bool) -> None:
    if asked:
        from tf_cluster.versions import CHART_NAME, CHART_RANGE, PARAMS_SCHEMA

        print(f"tf-cluster {__version__}")
        print(f"params schema {PARAMS_SCHEMA}")
        print(f"values schema of the chart {CHART_NAME} {CHART_RANGE}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_version,
            is_eager=True,
            help="Print the versions of the tool and of what it reads and writes.",
        ),
    ] = False,
) -> None:
    pass


for _command in (init, validate, generate, run, explain, schema, presets, convert, plan):
    app.command(cls=HelpfulCommand, epilog=epilog_of(_command))(_command)
