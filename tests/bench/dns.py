"""Questions to the cluster's name server until the first training step, against a TFJob's.

They are counted by the server itself (coredns_dns_requests_total), so a measure is alone on its
cluster. The TFJob is as its operator's examples have one: with Kubernetes' own `ndots: 5`.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator

from tests.bench.install import claims, install, namespace, script_values
from tests.bench.measure import Measure, Sample
from tests.bench.pairs import in_pairs
from tests.bench.rows import Ratio, at_most
from tests.bench.tfjob import NAMES, operator, tfjob
from tests.cluster.kubernetes import Namespace

METRICS_PORT = 9153
_REQUESTS = re.compile(r"^coredns_dns_requests_total\{.*\} (\S+)$", re.MULTILINE)


def _take(count: int, kubeconfig: str) -> Iterator[Sample]:
    with namespace(kubeconfig) as there, operator(there):
        claims(there)
        file = script_values("dns")
        names = (f"dns{number}" for number in range(2 * count))

        def ours() -> float:
            return install(there, file, next(names), "step ")

        def theirs() -> float:
            return tfjob(there, next(names), ndots=5)

        yield from in_pairs(_counted(there, ours), _counted(there, theirs), count, NAMES)


def _counted(there: Namespace, start: Callable[[], float]) -> Callable[[], float]:
    def questions() -> float:
        before = _asked(there)
        start()
        return _asked(there) - before

    return questions


def _asked(there: Namespace) -> float:
    """How many questions the server has had since it began."""
    found = there.kubectl(
        *("get", "pods", "--namespace=kube-system", "--selector=k8s-app=kube-dns", "--output=json")
    )
    (pod,) = json.loads(found)["items"]
    address = f"http://{pod['status']['podIP']}:{METRICS_PORT}/metrics"
    with urllib.request.urlopen(address, timeout=10) as answer:
        return sum(float(number) for number in _REQUESTS.findall(answer.read().decode()))


MEASURES = {
    "dns": Measure(
        _take,
        9,
        10,
        dict.fromkeys(NAMES, "questions"),
        [
            Ratio(
                "questions to the name server by a training's start, first step and removal",
                "a TFJob of training-operator 1.8.1, `kubectl apply`, as its examples are",
                at_most(0.5),
                NAMES,
            )
        ],
        on_cluster=True,
    )
}
