"""The values file as text."""

from pathlib import Path, PurePath
from shlex import quote

from tf_cluster import __version__
from tf_cluster.params.values import Values
from tf_cluster.printable import printable
from tf_cluster.versions import CHART_NAME, CHART_RANGE, MARK, PARAMS_SCHEMA
from tf_cluster.yaml.writer import yaml_text


def values_text(values: Values, source: str, preset: str, output: str = "") -> str:
    """What `tf-cluster generate` writes: the same bytes for the same params and tool version.

    `source` is the params file as the user named it; only its base name is written. `output` is the
    values file as it is named beside that; empty for a stream.
    """
    name = printable(PurePath(source).name) if source != "-" else "stdin"
    into = f" -o {quote(printable(output))}" if output else ""
    header = (
        f"# Values for the chart {CHART_NAME} {CHART_RANGE}: what {name} and its preset,\n"
        f"# {preset}, decide; everything else is the chart's own values.yaml.\n"
        f"{MARK}{__version__} ({PARAMS_SCHEMA}). Don't edit, generate:\n"
        f"# tf-cluster generate {quote(name)}{into}\n"
    )
    return header + yaml_text(values.data)


def is_foreign(path: Path) -> bool:
    """Whether the file at `path` is neither written by tf-cluster nor empty."""
    if not path.is_file():
        return False  # missing, or refused when it is written
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError:
        return True
    return bool(head) and not any(line.startswith(MARK.encode()) for line in head.splitlines())
