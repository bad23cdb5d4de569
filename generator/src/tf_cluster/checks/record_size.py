"""What Helm keeps of a release has to fit into a Secret. The chart can't tell: it has no gzip."""

import base64
import gzip
import json
from collections.abc import Iterator
from typing import Any

from tf_cluster.checks.characters import where_said
from tf_cluster.checks.config_size import MOST_BYTES as MOST_OF_A_CONFIG_MAP
from tf_cluster.expand.go_json import indented_bytes
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

RECORD_TOO_LARGE = Code(
    "TFC336",
    "Helm's record of the release would be too large",
    why=(
        "Helm keeps the chart, the values and what it rendered, compressed, in a Secret, and the "
        "API server refuses one of over 1 MiB. Code takes little room there, data much."
    ),
    wrong=(
        "program: {script: train.py, source: {files: [train.py]}}\n"
        "### train.py\n"
        "WEIGHTS = '«? × 500000»'"
    ),
    right=(
        "program: {script: train.py, source: {files: [train.py]}}\n"
        "### train.py\n"
        "WEIGHTS = '/data/weights'"
    ),
)

MOST_BYTES = 1 << 20
"""Size of a Secret; the API server refuses more."""

CHART_BYTES = 127_000
"""A lower bound for what every record has: the chart, its values and the objects."""

_SURELY_FITS = 300 << 10


def check(params: Params) -> Iterator[Finding]:
    """A finding on the largest part of values that do not compress enough."""
    told = {
        (top, key): part
        for top in ("program", "flags")
        for key, part in (params.effective.get(top) or {}).items()
    }
    sizes: dict[Pointer, int] = {path: indented_bytes(part) for path, part in told.items()}
    if not _SURELY_FITS < sum(sizes.values()) < MOST_OF_A_CONFIG_MAP:
        return
    rendered = _kept([{path[-1]: part} for path, part in told.items()])
    size = CHART_BYTES + _kept(params.values.data) + rendered
    if size <= MOST_BYTES:
        return
    where = where_said(params, max(sizes, key=lambda path: sizes[path]))
    message = (
        f"Helm's record of the release would have {size >> 10} KiB, and a Secret holds "
        f"{MOST_BYTES >> 10} KiB; most are {dotted(where)}"
    )
    fix = "put data in a file on the data volume"
    yield params.finding(where, RECORD_TOO_LARGE, message, fix=fix)


def _kept(data: Any) -> int:
    """Bytes of data as Helm keeps it."""
    return len(base64.b64encode(gzip.compress(json.dumps(data).encode())))
