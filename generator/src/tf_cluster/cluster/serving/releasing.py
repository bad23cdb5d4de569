"""Releases of the chart tf-serving: through helm, one change at a time in a namespace."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tf_cluster.cluster.connection import Connection
from tf_cluster.cluster.helm import Helm
from tf_cluster.cluster.serving.promotion import Wanted
from tf_cluster.cluster.serving.servers import CHART_NAME
from tf_cluster.cluster.submitting import stuck_release
from tf_cluster.exits import RefusedError

CHART = (Path(__file__).parents[2] / "serving_chart").resolve()
"""The chart that this tool was made for. In a checkout a link leads to it."""
_NOT_OF_EVERY_USER = re.compile(r'resource "(poddisruptionbudgets|horizontalpodautoscalers)"')
_RIGHT = "rights.serving: true gives the right (docs/tenants.md)"
LEASE = "tf-cluster-serving"
"""Who holds it changes servers of the namespace; two promotions would undo each other."""


def app_version(chart: str) -> str:
    """The TensorFlow of a chart's own server image; empty where the chart is no folder here."""
    try:
        text = Path(chart, "Chart.yaml").read_text(encoding="utf-8")
    except OSError:
        return ""
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == "appVersion":
            return value.strip().strip("'\"")
    return ""


def refuse_stuck(connection: Connection, release: str) -> None:
    """Refuse a release that a killed helm has left. Raises RefusedError, ClusterError."""
    stuck = stuck_release(connection, release)
    if stuck is not None:
        back = f"helm rollback {release}" if stuck.revision > 1 else f"helm uninstall {release}"
        raise RefusedError(
            f"release {release} is {stuck.status} since {stuck.created}: a helm works on it, or "
            f"was killed. If it was, {back} -n {connection.namespace} takes back what it has begun"
        )


def values_there(helm: Helm, release: str) -> dict[str, Any] | None:
    """The values of a server that is installed; None where there is no release of the name.

    Raises RefusedError for a release of another chart.
    """
    chart = helm.chart_of(release)
    if not chart:
        return None
    if chart != CHART_NAME:
        raise RefusedError(
            f"release {release} is of chart {chart}, and only {CHART_NAME} itself is changed here: "
            "name another --release, or edit its values with --values FILE"
        )
    return helm.values(release)


def install(
    helm: Helm,
    release: str,
    chart: str,
    values: Mapping[str, Any],
    description: str,
    files: Sequence[str] = (),
    settings: Sequence[str] = (),
) -> None:
    """Have helm install a release, or upgrade it to these values and no others.

    `files` and `settings` are laid over them. Raises RefusedError with helm's own words.
    """
    with tempfile.TemporaryDirectory(prefix="tf-cluster-") as folder:
        path = Path(folder, "values.json")
        path.write_text(json.dumps(values), encoding="utf-8")
        words = [
            *("upgrade", release, chart, "--install", "--reset-values", f"--values={path}"),
            *(f"--values={file}" for file in files),
            *(f"--set={setting}" for setting in settings),
            f"--description={description}",
        ]
        try:
            helm.said(*words)
        except RefusedError as error:
            if _NOT_OF_EVERY_USER.search(str(error)):
                raise RefusedError(f"{error}: in a namespace of tf-tenant {_RIGHT}") from None
            raise


def with_wanted(values: Mapping[str, Any], model: str, wanted: Wanted) -> dict[str, Any]:
    """A release's values with other versions of a model. Raises RefusedError where it has none."""
    models = dict(values.get("models") or {})
    if model not in models:
        raise RefusedError(
            f"the values of the release name no model {model}: were they given in another way?"
        )
    rest = {key: one for key, one in models[model].items() if key not in ("policy", "labels")}
    made = {**rest, "policy": dict(wanted.policy)}
    models[model] = {**made, **({"labels": dict(wanted.labels)} if wanted.labels else {})}
    return {**values, "models": models}
