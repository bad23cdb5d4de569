"""The checks, one file each: its codes, its messages and `check(params)`.

To add a check, add a file and a line here; docs/codes.md follows from it. A rule that a schema can
express belongs in a schema instead (params/schemas, or the chart's values.schema.json).
"""

from collections.abc import Iterator
from itertools import islice
from typing import Protocol

from tf_cluster.checks import (
    absent_roles,
    absolute_paths,
    address_ranges,
    annotations,
    byte_units,
    cadence,
    characters,
    claims,
    combination,
    config_size,
    container_resources,
    devices,
    env,
    flag_numbers,
    image,
    interactive,
    labels,
    left_out,
    monitoring,
    node_ports,
    notebook_image,
    nulls,
    optimizer,
    overlaps,
    pods,
    pre_stop,
    record_size,
    resources,
    run_id,
    schedule,
    script,
    script_hosts,
    source,
    storage_size,
    success_policy,
    volumes,
)
from tf_cluster.findings.finding import MOST_FINDINGS, Code, Finding
from tf_cluster.params import kinds, schema_violations, source_files
from tf_cluster.params.params import Params
from tf_cluster.program import codes as program_codes
from tf_cluster.yaml import helm_scalars, reader, syntax_errors


class Check(Protocol):
    """A file of this folder: one rule on how keys go together."""

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
    interactive,
    env,
    characters,
    overlaps,
    nulls,
)
"""Checks for every run."""

CLUSTER_CHECKS: tuple[Check, ...] = (
    left_out,
    image,
    notebook_image,
    monitoring,
    absolute_paths,
    volumes,
    config_size,
    record_size,
    script_hosts,
    pre_stop,
    devices,
    byte_units,
    container_resources,
    pods,
    claims,
    success_policy,
    labels,
    annotations,
    address_ranges,
    node_ports,
    flag_numbers,
)
"""Checks for a cluster only; `tf-cluster run` skips them."""


def run_checks(params: Params) -> Iterator[Finding]:
    """The findings of all checks that apply."""
    for one in (*CHECKS, *(CLUSTER_CHECKS if params.for_cluster else ())):
        yield from islice(one.check(params), MOST_FINDINGS)


_FINDERS: tuple[object, ...] = (
    *(reader, syntax_errors, helm_scalars, kinds, schema_violations, source_files, program_codes),
    *CHECKS,
    *CLUSTER_CHECKS,
)

CODES: tuple[Code, ...] = tuple(
    sorted(
        {code for finder in _FINDERS for code in vars(finder).values() if isinstance(code, Code)}
    )
)
"""Every code that a finding can have."""
