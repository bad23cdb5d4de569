"""A real Prometheus looks at a real training, by the jobs that docs/monitoring.md gives.

Prometheus is a process of this machine, not a pod, so no policy has to let it in: nodes may reach
their pods. The operator is not here; its PodMonitor makes the same labels as the first job.
"""

from __future__ import annotations

import json
import re
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from tests.cluster import turns
from tests.cluster.conftest import CHART, ROOT, MakeValues
from tests.cluster.kubernetes import Release
from tests.cluster.machine_tools import tool_path
from tests.ports import free_port
from tests.programs import ENDLESS, SLOWLY
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(turns.MONITORING, of=turns.OF)]

PAGE = (ROOT / "docs" / "monitoring.md").read_text()
JOBS = re.findall(r"^```yaml\n(scrape_configs:.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
DASHBOARD = json.loads((CHART / "files" / "dashboard.json").read_text())
QUERIES = {
    f"{panel['title']}: {target['legendFormat']}": target["expr"]
    for panel in DASHBOARD["panels"]
    for target in panel["targets"]
}
BY_ANNOTATIONS = "kubernetes-pods"


@pytest.fixture(scope="module")
def training(make_release: Callable[[str], Release], make_values: MakeValues) -> Release:
    release = make_release("seen")
    values = make_values(
        "seen",
        **SLOWLY,
        train={"steps": ENDLESS, "checkpoint": {"seconds": 5}},
        extraValues={
            "monitoring": {"scrapeAnnotations": True},
            "security": {"networkPolicy": {"statusFrom": [{"namespaceSelector": {}}]}},
        },
    )
    release.install(values)
    return release


@pytest.fixture(scope="module")
def ask(
    training: Release, kube_config: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], list[Any]]]:
    """Put a query to a Prometheus that watches the namespace, and return the series."""
    folder = tmp_path_factory.mktemp("prometheus")
    jobs = [job for text in JOBS for job in yaml.safe_load(text)["scrape_configs"]]
    assert [job["job_name"] for job in jobs] == ["tf-cluster", BY_ANNOTATIONS]
    for job in jobs:
        (found,) = job["kubernetes_sd_configs"]
        here = {"names": [training.namespace.name]}
        found |= {"kubeconfig_file": kube_config, "namespaces": here}
    times = {"scrape_interval": "2s", "scrape_timeout": "2s"}
    settings = {"global": times, "scrape_configs": jobs}
    (folder / "prometheus.yaml").write_text(yaml.safe_dump(settings))
    port = free_port()
    address = f"127.0.0.1:{port}"
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            (
                tool_path("prometheus"),
                f"--config.file={folder}/prometheus.yaml",
                f"--storage.tsdb.path={folder}/data",
                f"--web.listen-address={address}",
            ),
            stdout=log,
            stderr=subprocess.STDOUT,
        )

    def query(text: str) -> list[Any]:
        words = urllib.parse.urlencode({"query": text})
        assert process.poll() is None, (folder / "log").read_text()
        try:
            with urllib.request.urlopen(f"http://{address}/api/v1/query?{words}") as answer:
                return list(json.load(answer)["data"]["result"])
        except OSError as error:
            raise LookupError(str(error)) from None

    yield query
    process.terminate()
    process.wait(30)


def test_every_panel_of_the_dashboard_shows_the_training(
    training: Release, ask: Callable[[str], list[Any]]
) -> None:
    eventually("a step", lambda: training.progress()["step"], 120)
    lost = eventually("worker 1", lambda: training.worker(1), 60)
    training.namespace.kubectl(
        "delete", "pod", lost["metadata"]["name"], "--grace-period=0", "--force"
    )

    for title, expression in QUERIES.items():
        text = (
            expression.replace("$namespace", training.namespace.name)
            .replace("$release", "seen")
            .replace("$name", "tf-cluster")
            .replace("$__rate_interval", "20s")
        )

        def values(text: str = text) -> list[float]:
            numbers = [float(series["value"][1]) for series in ask(text)]
            return [number for number in numbers if number == number]  # not NaN

        eventually(f"{title}: {text}", values, 60)


def test_its_step_is_what_the_training_says(
    training: Release, ask: Callable[[str], list[Any]]
) -> None:
    before = eventually("a status", lambda: training.progress()["step"], 60)

    def step() -> int:
        name = f'tf_cluster_step{{app_kubernetes_io_instance="{training.name}"}}'
        (series,) = ask(f"max({name})")
        return int(series["value"][1])

    eventually(f"a step past {before}", lambda: step() >= before, 30)
    assert step() <= training.progress()["step"]


@pytest.mark.parametrize("job", ["tf-cluster", BY_ANNOTATIONS])
def test_every_task_is_found_once(
    job: str, training: Release, ask: Callable[[str], list[Any]]
) -> None:
    def tasks() -> bool:
        found = [
            series["metric"]["app_kubernetes_io_component"]
            for series in ask(f'up{{job="{job}"}} == 1')
        ]
        return sorted(found) == ["chief", "ps", "worker", "worker"]

    eventually("all tasks in Prometheus", tasks, 90)
    (series,) = ask(f'tf_cluster_step{{job="{job}",app_kubernetes_io_component="chief"}}')
    assert int(series["value"][1]) > 0
    assert series["metric"]["app_kubernetes_io_instance"] == training.name
    assert series["metric"]["app_kubernetes_io_name"] == "tf-cluster"
