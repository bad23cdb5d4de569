"""The values file as text."""

from pathlib import PurePath

from tf_cluster import __version__
from tf_cluster.expand import Values
from tf_cluster.versions import CHART_NAME, CHART_RANGE, PARAMS_SCHEMA
from tf_cluster.yaml_out import yaml_text


def values_text(values: Values, source: str, preset: str) -> str:
    """What `tf-cluster generate` writes: the same bytes for the same params and tool version.

    `source` is the params file as the user named it; only its last part is written.
    """
    name = PurePath(source).name if source != "-" else "stdin"
    header = (
        f"# Values for the chart {CHART_NAME} {CHART_RANGE}: what {name} and its preset,\n"
        f"# {preset}, decide; everything else is the chart's own values.yaml.\n"
        f"# Written by tf-cluster {__version__} ({PARAMS_SCHEMA}). Don't edit, generate:\n"
        f"# tf-cluster generate {name}\n"
    )
    return header + yaml_text(values.data)
