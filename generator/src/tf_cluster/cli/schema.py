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
    TRAININGS = "trainings"
    TRAINING = "training"
    EVENTS = "events"
    DOCTOR = "doctor"
    USAGE = "usage"
    QUOTA = "quota"
    PREFLIGHT = "preflight"
    SUBMITTED = "submitted"
    DELETED = "deleted"
    PRUNE = "prune"
    PRUNE_RUNS = "prune-runs"
    ANSWER = "answer"
    PUBLISHED = "published"
    PROMOTION = "promotion"


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
        Which,
        typer.Argument(
            metavar="[OF]",
            help="params; values (the chart's); trainings, training, events, doctor, usage, quota, "
            "preflight, submitted, deleted, prune, prune-runs, answer, published or promotion: of "
            "what list, get, events, doctor, top, quota, preflight, submit, delete, prune, prune "
            "runs, predict, publish and promote print.",
        ),
    ] = Which.PARAMS,
) -> None:
    """Print the JSON schema of a file, or of JSON that is printed."""
    from tf_cluster.params.schema_files import printed_schema_text, schema_text

    of_files = which in (Which.PARAMS, Which.VALUES)
    sys.stdout.write((schema_text if of_files else printed_schema_text)(which.value))
