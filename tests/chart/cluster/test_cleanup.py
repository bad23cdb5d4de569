"""The cleanup Job: what it is told and what it may do."""

from __future__ import annotations

import pytest
from tf_cluster_cleanup.plan import parse_plan

from tests.chart.features import FEATURES
from tests.chart.helm import render


def test_the_plan_is_one_that_the_program_reads() -> None:
    rendered = render(
        {
            "ps": {"replicas": 2},
            "worker": {"replicas": 3},
            "cleanup": {
                "delaySeconds": {"success": 5, "failure": None},
                "workersTimeoutSeconds": 7.5,
            },
        }
    )
    h = rendered.attempt
    (container,) = rendered.one("Job", "cleanup")["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["tf-cluster-cleanup"]
    option, text = container["args"]
    assert option == "--plan"
    plan = parse_plan(text)
    assert plan.client == f"digits-chief-{h}"
    assert plan.jobs == (f"digits-worker-{h}",)
    assert plan.completions == {f"digits-worker-{h}": 3}
    assert plan.deployments == (f"digits-ps-0-{h}", f"digits-ps-1-{h}")
    assert (plan.delay_success, plan.delay_failure, plan.workers_timeout) == (5, None, 7.5)


@pytest.mark.parametrize("feature", ["between-graph", "between-graph-sync"])
def test_without_a_chief_the_workers_job_is_the_clients(feature: str) -> None:
    rendered = render(FEATURES[feature])
    h = rendered.attempt
    (container,) = rendered.one("Job", "cleanup")["spec"]["template"]["spec"]["containers"]
    plan = parse_plan(container["args"][1])
    assert (plan.client, plan.jobs) == (f"digits-worker-{h}", ())
    assert set(plan.completions) == {plan.client}
    assert plan.deployments[0] == f"digits-ps-0-{h}"
    jobs, _ = rendered.one("Role", "cleanup")["rules"]
    assert jobs["resourceNames"] == [f"digits-worker-{h}"]


def test_without_ps_there_is_nothing_to_clean_up() -> None:
    # A rule without resourceNames would be one for every Deployment.
    rendered = render(FEATURES["all-reduce"])
    kinds = {kind for kind, name in rendered.names if "cleanup" in name}
    assert kinds == set()


def test_the_evaluators_job_is_ended_after_a_failure_alone() -> None:
    rendered = render(FEATURES["evaluator"])
    name = rendered.one("Job", "evaluator")["metadata"]["name"]
    (container,) = rendered.one("Job", "cleanup")["spec"]["template"]["spec"]["containers"]
    plan = parse_plan(container["args"][1])
    assert (plan.jobs, plan.jobs_after_failure) == ((f"digits-worker-{rendered.attempt}",), (name,))


def test_with_an_evaluator_but_without_ps_it_has_no_right_on_deployments() -> None:
    rendered = render(FEATURES["evaluator-all-reduce"])
    name = rendered.one("Job", "evaluator")["metadata"]["name"]
    (container,) = rendered.one("Job", "cleanup")["spec"]["template"]["spec"]["containers"]
    plan = parse_plan(container["args"][1])
    assert (plan.client, plan.jobs) == (f"digits-worker-{rendered.attempt}", ())
    assert (plan.deployments, plan.jobs_after_failure) == ((), (name,))
    (jobs,) = rendered.one("Role", "cleanup")["rules"]
    assert jobs["resources"] == ["jobs"]
    assert jobs["resourceNames"] == [plan.client, name]


def test_it_may_read_and_end_its_jobs_and_scale_its_ps_and_nothing_else() -> None:
    rendered = render({"ps": {"replicas": 2}})
    h = rendered.attempt
    assert rendered.one("Role", "cleanup")["rules"] == [
        {
            "apiGroups": ["batch"],
            "resources": ["jobs"],
            "resourceNames": [f"digits-chief-{h}", f"digits-worker-{h}"],
            "verbs": ["get", "patch"],
        },
        {
            "apiGroups": ["apps"],
            "resources": ["deployments/scale"],
            "resourceNames": [f"digits-ps-0-{h}", f"digits-ps-1-{h}"],
            "verbs": ["patch"],
        },
    ]


def test_its_account_is_bound_to_its_role_and_used_by_its_job_alone() -> None:
    rendered = render(namespace="lab")
    name = f"digits-cleanup-{rendered.attempt}"
    binding = rendered.one("RoleBinding", "cleanup")
    assert binding["roleRef"]["name"] == rendered.one("Role", "cleanup")["metadata"]["name"] == name
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": name, "namespace": "lab"}]
    assert rendered.one("ServiceAccount", "cleanup")["automountServiceAccountToken"] is False
    accounts = {n: pod["spec"].get("serviceAccountName") for n, pod in rendered.pods.items()}
    assert {n for n, account in accounts.items() if account} == {
        rendered.one("Job", "cleanup")["metadata"]["name"]
    }


def test_it_is_started_again_when_it_fails_or_is_moved() -> None:
    spec = render().one("Job", "cleanup")["spec"]
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert spec["backoffLimit"] == 20
