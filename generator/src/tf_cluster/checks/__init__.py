"""The checks, one file each: its codes with their titles, its words and `check(params)`.

A new check is a new file, a line here and one in docs/params.md. What a schema can say is in the
schemas instead (params/schemas, and the chart's values.schema.json).
"""

from collections.abc import Iterator
from typing import Protocol

from tf_cluster.checks import (
    absent_roles,
    absolute_paths,
    annotations,
    cadence,
    characters,
    claims,
    combination,
    config_size,
    devices,
    env,
    flag_numbers,
    image,
    labels,
    nulls,
    optimizer,
    overlaps,
    pre_stop,
    resources,
    run_id,
    schedule,
    script,
    source,
    storage_size,
    volumes,
)
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params import schema_violations, source_files
from tf_cluster.params.params import Params
from tf_cluster.yaml import helm_scalars, reader, syntax_errors


class Check(Protocol):
    """A file of this folder: how keys of a params file have to go together."""

    def check(self, params: Params) -> Iterator[Finding]:
        """Findings, in any order."""


CHECKS: tuple[Check, ...] = (
    combination,
    absent_roles,
    optimizer,
    schedule,
    resources,
    storage_size,
    cadence,
    run_id,
    script,
    source,
    env,
    characters,
    overlaps,
    nulls,
)
"""What any run is held to."""

CLUSTER_CHECKS: tuple[Check, ...] = (
    image,
    absolute_paths,
    volumes,
    config_size,
    pre_stop,
    devices,
    claims,
    labels,
    annotations,
    flag_numbers,
)
"""What a cluster is held to besides; `tf-cluster run` does without."""


def run_checks(params: Params) -> Iterator[Finding]:
    """The findings of every check that applies."""
    for one in (*CHECKS, *(CLUSTER_CHECKS if params.for_cluster else ())):
        yield from one.check(params)


_FINDERS: tuple[object, ...] = (
    *(reader, syntax_errors, helm_scalars, schema_violations, source_files),
    *CHECKS,
    *CLUSTER_CHECKS,
)

CODES: tuple[Code, ...] = tuple(
    sorted(
        {code for finder in _FINDERS for code in vars(finder).values() if isinstance(code, Code)}
    )
)
"""Every code that a finding can have."""
