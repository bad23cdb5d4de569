"""The status of trainings whose objects are as recorded, or one step further."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tf_cluster.cluster.connection import connect
from tf_cluster.cluster.doctor.examine import examined
from tf_cluster.cluster.ending import User, refuse_argo_cd, refuse_several, refuse_used
from tf_cluster.cluster.snapshot import Condition, Container, Ended, Snapshot, Training
from tf_cluster.cluster.state import TAIL_LINES, standings, state_of
from tf_cluster.exits import RefusedError

from tests.generator.cluster.conftest import Server, config, recorded

DOCUMENT = {"attempt": "a", "status": "done", "final": True, "message": "done at step 4 of 4"}
FIGURES = {"step": 4, "total": 4, "percent": 100.0}
GATE = (
    "2026-11-28T06:11:49Z chief-0: waiting for 1 of 2 tasks, 61 s of 1800 s: "
    "worker-0 (x.y): not heard of yet"
)
RUNNING = "chief-0: running 0.0%, step 813 of 10000000, 5 steps/s, ETA 292:52:57, loss 0.042"
THERE = "2026-11-28T06:11:59Z chief-0: every task is there after 71.0 s: training"


def test_progress_is_found_behind_much_that_a_program_says(use: Any, server: Server) -> None:
    use(config(server.url))
    _, training = recorded("TFD120-living")
    client = training.client_pods()[0]
    running = (Container("chief", is_running=True, is_ready=True),)
    pods = (replace(client, containers=running, log=()),)
    training = replace(training, pods=pods)
    at = "2026-11-28T07:48:06Z"
    said = [f"{at} a line of the program\n"] * TAIL_LINES
    log = f"/api/v1/namespaces/{training.namespace}/pods/{client.name}/log"
    server.answers = [
        (200, "".join(said).encode(), {}),
        (200, "".join([f"{at} {RUNNING}\n", *said]).encode(), {}),
    ]
    (standing,), unread = standings(connect(None, None), [training])
    assert not unread
    assert [path.partition("?")[0] for path, _ in server.asked] == [log, log]
    assert standing.state.progress is not None
    assert standing.state.progress.step == 813


def codes(snapshot: Snapshot, training: Training) -> list[str]:
    return [one.code for one in examined(replace(snapshot, trainings=(training,)), training)]


def running(training: Training) -> Training:
    """Its newest client pod runs, and was left alone."""
    client = training.client_pods()[0]
    task = Container(client.role, is_running=True, is_ready=True)
    ready = Condition("Ready", "True")
    now = replace(
        client, phase="Running", reason="", containers=(task,), conditions=(ready,), deleted=None
    )
    return replace(training, pods=(now, *(pod for pod in training.pods if pod != client)))


def test_a_wait_is_over_when_all_are_there() -> None:
    _, training = recorded("TFD114-gate")
    assert state_of(running(training), [GATE]).status == "waiting"
    assert state_of(running(training), [GATE, THERE]).status == "running"
    assert state_of(running(training), []).status == "starting"
    assert state_of(running(training), ["serving at a:2222; the log of"]).status == "serving"


def test_a_training_that_is_done_beside_a_sidecar_is_done() -> None:
    _, training = recorded("TFD114-gate")
    client = running(training).client_pods()[0]
    message = json.dumps({**DOCUMENT, **FIGURES})
    task = Container(client.role, ended=Ended(0, "Completed", message))
    pods = (replace(client, containers=(task, Container("mesh", is_running=True))),)
    state = state_of(replace(training, pods=pods))
    assert (state.status, state.has_ended, state.why) == ("done", True, DOCUMENT["message"])


def test_a_half_made_attempt_does_not_hide_the_one_that_trains() -> None:
    _, training = recorded("TFD122-servers")
    assert training.attempts() == [training.attempt]
    (server,) = training.deployments
    assert server.created is not None
    later = server.created + timedelta(seconds=60)
    made = replace(server, name="servers-ps-0-ffffffff", attempt="ffffffff", created=later)
    both = replace(training, deployments=(server, made))
    assert both.attempt == "ffffffff"
    client = both.client()
    assert client is not None and client.attempt == training.attempt
    assert state_of(both).status == state_of(training).status == "failed"
    alone = replace(both, jobs=())
    assert state_of(alone).status == "serving"


@pytest.mark.parametrize("name", ["TFD116-memory", "TFD113-start"])
def test_what_ended_a_pod_that_was_replaced_is_over(name: str) -> None:
    snapshot, training = recorded(name)
    code = name[:6]
    assert code in codes(snapshot, training)
    ill = next(pod for pod in training.pods if pod.role == "worker")
    later = max(pod.created for pod in training.pods if pod.created) + timedelta(seconds=60)
    well = Container(ill.role, is_running=True, is_ready=True)
    ready = Condition("Ready", "True")
    next_pod = replace(
        ill,
        name=f"{ill.name}x",
        created=later,
        phase="Running",
        containers=(well,),
        conditions=(ready,),
        log=(),
    )
    ended = tuple(replace(pod, phase="Failed") for pod in training.pods)
    assert code not in codes(snapshot, replace(training, pods=(*ended, next_pod)))


def test_taints_of_other_nodes_are_no_fault_where_a_node_is_only_full() -> None:
    snapshot, training = recorded("TFD105-not-now")
    (pod,) = (one for one in training.pods if one.role == "worker")
    said = (
        "0/3 nodes are available: 1 node(s) had untolerated taint(s), 2 Insufficient cpu. "
        "preemption: 0/3 nodes are available"
    )
    full = Condition("PodScheduled", "False", "Unschedulable", said)
    waits = replace(training, pods=(replace(pod, conditions=(full,)),))
    found = codes(snapshot, waits)
    assert "TFD105" in found
    assert "TFD107" not in found
    all_tainted = said.replace("1 node(s)", "3 node(s)").replace(", 2 Insufficient cpu", "")
    waits = replace(
        training, pods=(replace(pod, conditions=(replace(full, message=all_tainted),)),)
    )
    assert "TFD107" in codes(snapshot, waits)


def test_a_refusal_is_over_when_a_pod_was_made_since() -> None:
    snapshot, training = recorded("TFD101-quota")
    assert "TFD101" in codes(snapshot, training)
    newest = max(event.at for event in snapshot.events if event.at)
    pods = tuple(replace(pod, created=newest + timedelta(seconds=1)) for pod in training.pods)
    assert pods
    assert "TFD101" not in codes(snapshot, replace(training, pods=pods))


def test_what_must_not_be_deleted_is_refused_by_name() -> None:
    _, training = recorded("TFD114-gate")
    mine = (training.name, training.chart)
    refuse_used(training, [User("pod", "a", mine, ("gate-log",))])
    refuse_used(training, [User("pod", "b", ("other", "tf-cluster"), ("other-log",))])
    with pytest.raises(RefusedError, match="claim gate-log is used by deployment/serving too"):
        refuse_used(training, [User("deployment", "serving", ("s", "x"), ("gate-log",))])

    other = replace(training, chart="second")
    refuse_several(training, [training, replace(other, name="else")])
    with pytest.raises(RefusedError, match="one release with gate/second"):
        refuse_several(training, [training, other])

    refuse_argo_cd(training.name, training.managed_by, "delete")
    with pytest.raises(RefusedError, match="Argo CD, Application vision: delete it there"):
        refuse_argo_cd(training.name, "argocd:vision", "delete")
