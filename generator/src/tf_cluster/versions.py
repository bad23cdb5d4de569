"""What this version of the tool reads and writes."""

PARAMS_SCHEMA = "urn:tf-cluster:params:v1"
"""`$id` of params.schema.json; its number changes when a valid file stops being valid."""

CHART_NAME = "tf-cluster"
CHART_RANGE = "0.1.x"
"""Chart versions that read the values written here."""

MARK = "# Written by tf-cluster "
"""The beginning of a line in the header of every values file that the tool writes."""
