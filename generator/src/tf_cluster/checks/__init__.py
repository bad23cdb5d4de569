"""The checks, one file each: its codes, its messages and `check(params)`.

To add a check, add a file and a line here; docs/codes.md follows from it. A rule that a schema can
express belongs in a schema instead (params/schemas, or the chart's values.schema.json).
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Protocol

from tf_cluster.checks import (
    absent_roles,
    absolute_paths,
    account,
    address_ranges,
    annotations,
    byte_units,
    cadence,
    characters,
    claims,
    combination,
    config_size,
    container_resources,
    crowded_node,
    devices,
    env,
    flag_numbers,
    float_range,
    image,
    interactive,
    labels,
    left_out,
    long_decay,
    monitoring,
    node_ports,
    notebook_image,
    nulls,
    open_network,
    optimizer,
    overlaps,
    placeholder_image,
    placeholder_program,
    pods,
    pre_stop,
    rare_checkpoints,
    record_size,
    resources,
    root_user,
    routes,
    run_id,
    schedule,
    scheduling,
    script,
    script_hosts,
    secret_in_url,
    several_nodes,
    shell_variables,
    source,
    spot_nodes,
    storage_size,
    success_policy,
    unlikely_amounts,
    volumes,
)
from tf_cluster.findings import file_codes
from tf_cluster.findings.finding import MOST_FINDINGS, Code, Finding
from tf_cluster.params import ignores, kinds, schema_violations, source_files
from tf_cluster.params.params import Params
from tf_cluster.program import codes as program_codes
from tf_cluster.program import data_size
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
    placeholder_program,
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
    root_user,
    account,
    claims,
    success_policy,
    labels,
    annotations,
    address_ranges,
    node_ports,
    routes,
    scheduling,
    flag_numbers,
)
"""Checks for a cluster only; `tf-cluster run` skips them."""


ADVICE: tuple[Check, ...] = (float_range, rare_checkpoints, long_decay, shell_variables)
"""What may be ignored by name (params/ignores.py), for every run."""

CLUSTER_ADVICE: tuple[Check, ...] = (
    unlikely_amounts,
    crowded_node,
    several_nodes,
    placeholder_image,
    spot_nodes,
    secret_in_url,
    open_network,
)
"""The same for a cluster only."""


def run_checks(params: Params) -> Iterator[Finding]:
    """The findings of all checks that apply."""
    of_cluster = (*CLUSTER_CHECKS, *CLUSTER_ADVICE) if params.for_cluster else ()
    for one in (*CHECKS, *ADVICE, *of_cluster):
        yield from islice(one.check(params), MOST_FINDINGS)


_FINDERS: tuple[object, ...] = (
    *(reader, syntax_errors, helm_scalars, kinds, schema_violations, source_files, program_codes),
    *(file_codes, data_size),
    *(ignores, *CHECKS, *CLUSTER_CHECKS, *ADVICE, *CLUSTER_ADVICE),
)


def _codes(finders: Iterable[object]) -> tuple[Code, ...]:
    found = {one for finder in finders for one in vars(finder).values() if isinstance(one, Code)}
    return tuple(sorted(found))


CODES = _codes(_FINDERS)
"""Every code that a finding can have."""
ADVICE_CODES = _codes((*ADVICE, *CLUSTER_ADVICE, data_size))
"""Those that a file may ignore."""
