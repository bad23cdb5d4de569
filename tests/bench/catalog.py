"""Every measure by its name, in the order of the page.

A new one is a Measure in a file's MEASURES, and that file here; then
`python -m tests.bench --page` writes its rows down as not measured yet.
"""

from __future__ import annotations

from tests.bench import (
    api_cost,
    chart_size,
    chart_upgrade,
    chief_bytes,
    columns,
    dns,
    embedding_size,
    install,
    large_table,
    link_rates,
    linter,
    listing,
    measures,
    memory,
    notebook,
    rates,
    recovery,
    recovery_pods,
    reporting,
    saves,
    servers,
    serving,
    serving_install,
    skewed_rows,
    starts,
    state_memory,
    tables,
    tfjob,
)
from tests.bench.measure import Measure
from tests.bench.polling import measure as polling

MEASURES: dict[str, Measure] = {
    **measures.MEASURES,
    **linter.MEASURES,
    **listing.MEASURES,
    **install.MEASURES,
    **tfjob.MEASURES,
    **notebook.MEASURES,
    **chart_size.MEASURES,
    **api_cost.MEASURES,
    **chart_upgrade.MEASURES,
    **dns.MEASURES,
    **rates.MEASURES,
    **link_rates.MEASURES,
    **embedding_size.MEASURES,
    **large_table.MEASURES,
    **tables.MEASURES,
    **starts.MEASURES,
    **servers.MEASURES,
    **serving.MEASURES,
    **serving_install.MEASURES,
    **reporting.MEASURES,
    **recovery.MEASURES,
    **recovery_pods.MEASURES,
    **memory.MEASURES,
    **saves.MEASURES,
    **chief_bytes.MEASURES,
    **state_memory.MEASURES,
    **polling.MEASURES,
    **skewed_rows.MEASURES,
    **columns.MEASURES,
}
