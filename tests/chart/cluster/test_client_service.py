"""Where no chief is, worker 0 does its work and is found as the chief would be."""

from __future__ import annotations

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import Rendered, render

WITHOUT_A_CHIEF = ["between-graph", "between-graph-sync", "all-reduce"]
# The Job controller gives it to each pod of an Indexed Job, as it does the index in the host name.
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"


def labels_of_pods(rendered: Rendered) -> dict[str, dict[str, str]]:
    """The labels of every pod as it will run, the workers one by one."""
    job = rendered.one("Job", "worker")
    assert job["spec"]["completionMode"] == "Indexed"
    labels = {name: dict(pod["metadata"]["labels"]) for name, pod in rendered.pods.items()}
    worker = job["spec"]["template"]["metadata"]["labels"]
    kept = {name: one for name, one in labels.items() if one != worker}
    return kept | {
        f"{job['metadata']['name']}-{index}": {**worker, INDEX_LABEL: str(index)}
        for index in range(job["spec"]["completions"])
    }


@pytest.mark.parametrize("feature", WITHOUT_A_CHIEF)
def test_the_clients_service_selects_worker_0_and_nobody_else(feature: str) -> None:
    rendered = render(FEATURES[feature])
    service = rendered.one("Service", "worker")
    pods = labels_of_pods(rendered)

    selected = [
        name
        for name, labels in pods.items()
        if service["spec"]["selector"].items() <= labels.items()
    ]

    assert len(pods) > 1
    assert selected == [f"{rendered.one('Job', 'worker')['metadata']['name']}-0"]


@pytest.mark.parametrize("feature", WITHOUT_A_CHIEF)
def test_worker_0s_status_is_asked_for_at_its_service_which_is_there_before_its_pod(
    feature: str,
) -> None:
    rendered = render(FEATURES[feature])
    service = rendered.one("Service", "worker")
    first, *others = rendered.cluster.status["worker"]

    assert first == f"{service['metadata']['name']}:8080"
    # A headless Service has no address of its own: its name is absent while it has no pod.
    assert "clusterIP" not in service["spec"]
    assert service["spec"]["publishNotReadyAddresses"] is True
    assert [port["port"] for port in service["spec"]["ports"]] == [8080]
    servers = rendered.cluster.cluster["worker"][1:]
    assert others == [server.replace(":2222", ":8080") for server in servers]
