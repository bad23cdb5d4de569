"""Questions to the cluster's name server until the first training step, against peers'.

They are counted by the server itself (coredns_dns_requests_total), so a measure is alone on its
cluster. A TFJob and a JobSet are as their examples have them: with Kubernetes' own `ndots: 5`.
"""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from tests.bench.install import claims, install, namespace, script_values
from tests.bench.jobset import jobset, jobset_controller
from tests.bench.measure import Measure, Sample
from tests.bench.pairs import in_pairs
from tests.bench.rows import Bar, Ratio, at_most
from tests.bench.tfjob import operator, tfjob
from tests.cluster.kubernetes import Namespace

Start = Callable[[Namespace, str], float]
OURS = "ours"
METRICS_PORT = 9153
_REQUESTS = re.compile(r"^coredns_dns_requests_total\{.*\} (\S+)$", re.MULTILINE)


def _tfjob(there: Namespace, name: str) -> float:
    return tfjob(there, name, ndots=5)


def _against(
    controller: Callable[[Namespace], AbstractContextManager[None]], start: Start, peer: str
) -> Callable[[int, str], Iterator[Sample]]:
    """Paired counts of ours and of a peer's, whose controller runs meanwhile."""

    def take(count: int, kubeconfig: str) -> Iterator[Sample]:
        with namespace(kubeconfig) as there, controller(there):
            claims(there)
            file = script_values("dns")
            names = (f"dns{number}" for number in range(2 * count))

            def ours() -> float:
                return install(there, file, next(names), "step ")

            def theirs() -> float:
                return start(there, next(names))

            sides = _counted(there, ours), _counted(there, theirs)
            yield from in_pairs(*sides, count, (OURS, peer))

    return take


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


def _measure(
    controller: Callable[[Namespace], AbstractContextManager[None]],
    start: Start,
    peer: str,
    against: str,
    bar: Bar | None = None,
) -> Measure:
    names = (OURS, peer)
    what = "questions to the name server by a training's start, first step and removal"
    return Measure(
        _against(controller, start, peer),
        9,
        10,
        dict.fromkeys(names, "questions"),
        [Ratio(what, against, bar, names)],
        on_cluster=True,
    )


MEASURES = {
    "dns": _measure(
        operator,
        _tfjob,
        "TFJob",
        "a TFJob of training-operator 1.8.1, `kubectl apply`, as its examples are",
        at_most(0.5),
    ),
    "dns-jobset": _measure(
        jobset_controller,
        jobset,
        "JobSet",
        "a JobSet of its controller 0.10.1, `kubectl apply`, TF_CONFIG by hand",
    ),
}
