"""`tf-cluster list -A` of a thousand trainings against kubectl's list of their Jobs and pods.

On an API server of its own, whose trainings are done: no controller runs, so their Jobs and pods
are written as the chart makes them and as they are at the end. The log of one that still trains is
one request more for its row.
"""

from __future__ import annotations

import copy
import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import yaml
from lightkube import Client, KubeConfig
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment
from lightkube.resources.batch_v1 import Job, JobStatus
from lightkube.resources.core_v1 import Namespace as ApiNamespace
from lightkube.resources.core_v1 import Pod, PodStatus, ServiceAccount
from lightkube.types import PatchType

from tests.bench.measure import Measure, Sample
from tests.bench.measures import TOOL
from tests.bench.origin import ROOT
from tests.bench.pairs import one_pair
from tests.bench.rows import Bar, Figure, Ratio, at_most
from tests.cluster.control_plane import STORAGE, ControlPlane, control_plane
from tests.cluster.kubernetes import command
from tests.cluster.machine_tools import tool_path

TRAININGS, NAMESPACES = 1000, 10
HASH = "0a1b2c3d"
NAME = "the-name-of-it"
CHART = ROOT / "charts" / "tf-cluster"
STATUS = {
    "attempt": HASH,
    "status": "done",
    "final": True,
    "message": "done at step 2000 of 2000",
    "step": 2000,
    "total": 2000,
    "percent": 100.0,
}


def _take(count: int) -> Iterator[Sample]:
    """Pairs on one server."""
    with (
        tempfile.TemporaryDirectory() as folder,
        control_plane(Path(folder) / "plane", STORAGE) as plane,
    ):
        _fill(plane)
        ours = (str(TOOL), "list", "--all-namespaces")
        kubectl = (tool_path("kubectl"), "get", "jobs,pods", "-A", "-o", "name")
        for words in (ours, kubectl):
            _run(words, plane)
        for number in range(count):
            before = _requests(plane)
            mine, theirs = one_pair(lambda: _run(ours, plane), lambda: _run(kubectl, plane), number)
            asked = _requests(plane) - before
            yield {"list": mine, "kubectl": theirs, "requests": float(asked)}


def _run(words: tuple[str, ...], plane: ControlPlane) -> float:
    """Seconds of a whole command. Raises RuntimeError unless it lists all."""
    began = time.monotonic()
    done = subprocess.run(
        words, env={"KUBECONFIG": plane.kubeconfig, "HOME": "/tmp"}, capture_output=True, text=True
    )
    seconds = time.monotonic() - began
    if done.returncode or done.stdout.count("\n") < TRAININGS:
        raise RuntimeError(f"{words}: {done.returncode}\n{done.stderr}{done.stdout[-500:]}")
    return seconds


def _requests(plane: ControlPlane) -> int:
    """What the tool has asked for so far: kubectl and the server name themselves in its log."""
    log = (plane.layout.logs / "audit.log").read_text().splitlines()
    others = ('"userAgent":"kubectl', '"userAgent":"kube-apiserver')
    return sum(not any(other in line for other in others) for line in log)


def _fill(plane: ControlPlane) -> None:
    """Write a thousand trainings that are done."""
    made = _rendered()
    client = Client(KubeConfig.from_file(plane.kubeconfig))
    for number in range(NAMESPACES):
        name = f"team-{number}"
        client.create(ApiNamespace(metadata=ObjectMeta(name=name)))
        client.create(ServiceAccount(metadata=ObjectMeta(name="default", namespace=name)))
    _write(client, made, 0)  # msgspec crashes where threads see a type for the first time at once
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: _write(client, made, number), range(1, TRAININGS)))


def _rendered() -> list[dict[str, Any]]:
    """The Jobs and Deployments of one training, as the chart makes them."""
    values = ROOT / "values-examples" / "digits.values.yaml"
    text = command(tool_path("helm"), "template", NAME, str(CHART), f"--values={values}")
    documents = [one for one in yaml.safe_load_all(text) if one]
    return [one for one in documents if one["kind"] in ("Job", "Deployment")]


def _write(client: Client, made: list[dict[str, Any]], number: int) -> None:
    namespace, release = f"team-{number % NAMESPACES}", f"training-{number:04}"
    for document in made:
        one = json.loads(json.dumps(document).replace(NAME, release))
        one["metadata"] |= {"namespace": namespace, "name": f"{release}-{one['metadata']['name']}"}
        one["metadata"]["annotations"] = {"meta.helm.sh/release-name": release}
        kind = Job if one["kind"] == "Job" else Deployment
        there: Any = client.create(kind.from_dict(one))  # type: ignore[call-overload]
        if kind is Job:
            done = {"type": "Complete", "status": "True"}
            ready = {"type": "SuccessCriteriaMet", "status": "True"}
            times = {"startTime": "2026-11-28T06:00:00Z", "completionTime": "2026-11-28T06:10:00Z"}
            succeeded = one["spec"].get("completions", 1)
            status = {"conditions": [ready, done], "succeeded": succeeded, **times}
            patch = {"status": status}
            client.patch(
                JobStatus,
                str(one["metadata"]["name"]),
                patch,
                namespace=namespace,
                patch_type=PatchType.MERGE,
            )
        _write_pods(client, one, there)


def _write_pods(client: Client, made: dict[str, Any], owner: Any) -> None:
    template = copy.deepcopy(made["spec"]["template"])
    role = template["metadata"]["labels"]["app.kubernetes.io/component"]
    for index in range(made["spec"].get("completions", 1)):
        metadata = template["metadata"]
        metadata |= {
            "name": f"{owner.metadata.name}-{index}-abcde",
            "namespace": owner.metadata.namespace,
            "ownerReferences": [
                {
                    "apiVersion": made["apiVersion"],
                    "kind": made["kind"],
                    "name": owner.metadata.name,
                    "uid": owner.metadata.uid,
                    "controller": True,
                }
            ],
        }
        metadata["labels"]["batch.kubernetes.io/job-completion-index"] = str(index)
        template["spec"].pop("serviceAccountName", None)
        whole = Pod.from_dict({"metadata": metadata, "spec": template["spec"]})
        pod: Any = client.create(whole)  # type: ignore[call-overload]
        message = json.dumps(STATUS) if role == "chief" else ""
        ended = {"exitCode": 0, "reason": "Completed", "message": message}
        main = {
            "name": role,
            "image": "image",
            "imageID": "",
            "ready": False,
            "restartCount": 0,
            "state": {"terminated": ended},
        }
        status = {"phase": "Succeeded", "containerStatuses": [main]}
        client.patch(
            PodStatus,
            pod.metadata.name,
            {"status": status},
            namespace=pod.metadata.namespace,
            patch_type=PatchType.MERGE,
        )


MEASURES = {
    "list": Measure(
        _take,
        15,
        6,
        {"list": "s", "kubectl": "s", "requests": "requests"},
        [
            Ratio(
                "`tf-cluster list -A` of 1,000 trainings",
                "`kubectl get jobs,pods -A -o name` of their 3,000 Jobs and 5,000 pods",
                at_most(3),
                ("list", "kubectl"),
            ),
            Figure(
                "requests of the same",
                Bar("≤ 20", 20.0),
                ("requests",),
                against="one for each 500 objects of a kind",
                counted=True,
            ),
        ],
    )
}
