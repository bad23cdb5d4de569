"""A script is told all tasks in one environment variable, and Linux limits its length."""

from collections.abc import Iterator

from tf_cluster.expand.roles import has_ps
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import value_at

TOO_MANY_HOSTS = Code(
    "TFC333",
    "more tasks than a script can be told of",
    why=(
        "TF_CONFIG names all tasks in one variable, and Linux hands a process at most 128 "
        "KiB of one."
    ),
    wrong="program: {script: /data/train.py}\npreset: large\nworkers: 10000",
    right="program: {script: /data/train.py}\npreset: large\nworkers: 1000",
)

MOST_BYTES = 128 << 10
"""The longest `NAME=value` that Linux hands a process, with its zero byte (MAX_ARG_STRLEN)."""

_FIXED_BYTES = 256
"""An upper bound for all that is no worker and no ps: a chief, this task, names and brackets."""

_ADDRESS = len('"--01234567-.-01234567:2222", ')
"""What TF_CONFIG has of each task's address, beside the fullname twice, the role and the index."""


def check(params: Params) -> Iterator[Finding]:
    """A finding on the workers, or the ps, when they make TF_CONFIG too long."""
    effective = params.effective
    if not (effective.get("program") or {}).get("script"):
        return
    name = len(effective.get("fullnameOverride") or "")
    counts, sizes = {}, {}
    for role in ("worker", "ps"):
        count = value_at(effective, (role, "replicas")) or 0
        counts[role] = count if role == "worker" or has_ps(effective) else 0
        digits = sum(max(0, counts[role] - start) for start in (0, 10, 100, 1_000))
        sizes[role] = counts[role] * (2 * name + len(role) + _ADDRESS) + digits
    total = sum(sizes.values()) + _FIXED_BYTES
    if total <= MOST_BYTES:
        return
    largest = max(sizes, key=lambda role: sizes[role])
    message = (
        f"TF_CONFIG tells a script of {counts['worker']} workers and {counts['ps']} ps in "
        f"{total >> 10} KiB, and Linux hands a process at most {MOST_BYTES >> 10} KiB"
    )
    where = params.origin_of((largest, "replicas"))
    fix = f"take fewer {'ps' if largest == 'ps' else 'workers'}, a shorter name, or a module"
    yield params.finding(where, TOO_MANY_HOSTS, message, counts[largest], fix)
