"""The command `tf-cluster`: reads arguments and prints. Each command has a file beside this one.

Data goes to stdout, messages to stderr. Exit codes are in exits.py.
"""

import gc
import sys
from collections.abc import Callable
from typing import Annotated

import typer

from tf_cluster import __version__, exits
from tf_cluster.cli.common import tell
from tf_cluster.cli.convert import convert
from tf_cluster.cli.delete import delete
from tf_cluster.cli.doctor import doctor
from tf_cluster.cli.events import events
from tf_cluster.cli.explain import explain
from tf_cluster.cli.generate import generate
from tf_cluster.cli.get import get
from tf_cluster.cli.help import HelpfulCommand, HelpfulGroup, epilog_of
from tf_cluster.cli.init import init
from tf_cluster.cli.list import list_trainings
from tf_cluster.cli.logs import logs
from tf_cluster.cli.package import package
from tf_cluster.cli.plan import plan
from tf_cluster.cli.predict import predict
from tf_cluster.cli.preflight import preflight
from tf_cluster.cli.presets import presets
from tf_cluster.cli.promote import promote
from tf_cluster.cli.prune import prune
from tf_cluster.cli.prune_runs import prune_runs
from tf_cluster.cli.publish import publish
from tf_cluster.cli.quota import quota
from tf_cluster.cli.rollback import rollback
from tf_cluster.cli.run import run
from tf_cluster.cli.schema import schema
from tf_cluster.cli.serve import serve
from tf_cluster.cli.stop import stop
from tf_cluster.cli.submit import submit
from tf_cluster.cli.top import top
from tf_cluster.cli.validate import validate
from tf_cluster.cli.wait import wait
from tf_cluster.exits import RefusedError
from tf_cluster.printable import printable
from tf_cluster.streams import GoneError, use_streams

_EPILOG = """\
From nothing to a training in a cluster:
  tf-cluster init digits.params.yaml
  tf-cluster run digits.params.yaml
  tf-cluster generate digits.params.yaml -o digits.values.yaml
  helm install digits charts/tf-cluster -f digits.values.yaml
  tf-cluster get digits
  tf-cluster serve digits --install

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


_YOUNG = 5_000
"""New objects before cycles are looked for. A large file makes a million, nearly none in cycles:
by Python's own 700 the look at all of them again and again takes up to a third of the time."""


def main() -> None:
    """Run the command and exit. An unexpected exception is a bug: traceback, exit 2."""
    use_streams()
    gc.set_threshold(_YOUNG, 20, 20)
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


_COMMANDS: dict[str, Callable[..., None]] = {
    "init": init,
    "validate": validate,
    "generate": generate,
    "run": run,
    "explain": explain,
    "schema": schema,
    "presets": presets,
    "convert": convert,
    "plan": plan,
    "preflight": preflight,
    "submit": submit,
    "list": list_trainings,
    "get": get,
    "logs": logs,
    "events": events,
    "wait": wait,
    "doctor": doctor,
    "top": top,
    "quota": quota,
    "stop": stop,
    "delete": delete,
    "serve": serve,
    "predict": predict,
    "publish": publish,
    "promote": promote,
    "rollback": rollback,
    "package": package,
}
for _name, _command in _COMMANDS.items():
    app.command(_name, cls=HelpfulCommand, epilog=epilog_of(_command))(_command)
_prune = typer.Typer(cls=HelpfulGroup)
_prune.command("runs", cls=HelpfulCommand, epilog=epilog_of(prune_runs))(prune_runs)
app.add_typer(
    _prune,
    name="prune",
    callback=prune,
    invoke_without_command=True,
    epilog=epilog_of(prune),
)
