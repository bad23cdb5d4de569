"""Pods on nodes: what is said to fit does, and what surely does not, does not."""

from __future__ import annotations

import itertools
import random
from fractions import Fraction

import pytest
from tf_cluster.exits import RefusedError
from tf_cluster.planning.demand import PodGroup, asked, packed
from tf_cluster.planning.nodes import parsed_node

SEEDS = 150


def group(
    role: str, count: int, cpu: int, gpu: int = 0, *, memory: int = 1, mounts: bool = False
) -> PodGroup:
    wants = {"cpu": Fraction(cpu), "memory": Fraction(memory)}
    if gpu:
        wants["nvidia.com/gpu"] = Fraction(gpu)
    return PodGroup(role, count, f"Job {role}", wants, {}, ("data", "log") if mounts else ())


def fits_by_trying(groups: list[PodGroup], node: dict[str, Fraction], nodes: int) -> bool:
    """Every way to place every pod."""
    pods = [one for one in groups for _ in range(one.count)]
    for places in itertools.product(range(nodes), repeat=len(pods)):
        left = [dict(node) for _ in range(nodes)]
        for pod, place in zip(pods, places, strict=True):
            for name, value in pod.requests.items():
                left[place]["gpu" if "gpu" in name else name] -= value
        if all(amount >= 0 for one in left for amount in one.values()):
            return True
    return False


def test_a_packing_is_right_about_drawn_pods() -> None:
    draw = random.Random(11)
    missed = 0
    for _ in range(SEEDS):
        node = {
            "cpu": Fraction(draw.randint(1, 8)),
            "memory": Fraction(draw.randint(1, 8)),
            "gpu": Fraction(draw.randint(0, 4)),
        }
        nodes = draw.randint(1, 3)
        groups = [
            group(
                role,
                draw.randint(1, 2),
                draw.randint(1, 4),
                draw.randint(0, 2),
                memory=draw.randint(1, 4),
            )
            for role in ("chief", "worker", "ps")
        ]
        fit = packed(groups, node, nodes, colocate=False)
        really = fits_by_trying(groups, node, nodes)

        assert fit.unplaced or really, (groups, node, nodes)
        assert not (fit.unplaced and fit.certain) or not really, (groups, node, nodes)
        missed += bool(fit.unplaced) and really
    assert missed <= SEEDS // 20


def test_a_pod_is_whole() -> None:
    fit = packed([group("worker", 1, 12)], parsed_node("cpu=8,memory=64Gi"), 4, colocate=False)

    assert fit.unplaced[0].why == "asks for 12 of cpu, a node has 8"
    assert fit.certain


def test_a_gpu_of_any_vendor_is_a_gpu_and_no_node_has_one_that_is_not_said() -> None:
    workers = [group("worker", 4, 1, 2)]

    assert not packed(workers, parsed_node("cpu=8,memory=8,gpu=8"), 1, colocate=False).unplaced
    of_another = packed(workers, parsed_node("cpu=8,memory=8,amd.com/gpu=8"), 1, colocate=False)
    assert of_another.unplaced[0].why == "asks for 2 of nvidia.com/gpu, a node has 0"


def test_pods_that_share_a_claim_of_one_node_are_on_one() -> None:
    pods = [group("chief", 1, 2, mounts=True), group("worker", 3, 2, mounts=True)]
    node = parsed_node("cpu=4,memory=8Gi")

    assert not packed(pods, node, 2, colocate=False).unplaced
    fit = packed(pods, node, 2, colocate=True)
    assert sum(one.count for one in fit.unplaced) == 2
    assert fit.unplaced[0].why.endswith("the one node that all who mount a claim share")
    assert fit.certain


def test_what_others_take_of_the_shared_node_later_is_not_the_reason() -> None:
    pods = [group("worker", 3, 2, memory=2, mounts=True), group("cleanup", 1, 0, memory=1)]

    (left,) = packed(pods, parsed_node("cpu=5,memory=6"), 4, colocate=True).unplaced

    assert left.why.startswith("asks for 2 of cpu, 1 is left on the one node")


def test_ten_thousand_pods_on_as_many_nodes_are_packed_at_once() -> None:
    fit = packed([group("worker", 10_000, 1)], parsed_node("cpu=1,memory=4"), 9_999, colocate=False)

    assert [(one.title, one.count) for one in fit.unplaced] == [("worker-0…9999", 1)]


def test_a_node_takes_110_pods() -> None:
    fit = packed([group("worker", 111, 1)], parsed_node("cpu=999,memory=999"), 1, colocate=False)

    assert fit.unplaced[0].count == 1
    assert "of pods" in fit.unplaced[0].why


def test_a_pod_asks_for_its_containers_its_sidecars_and_its_largest_init_container() -> None:
    def container(cpu: str, **more: str) -> dict[str, object]:
        return {"resources": {"requests": {"cpu": cpu}}, **more}

    template = {
        "spec": {
            "containers": [container("1"), {"resources": {"limits": {"memory": "1Gi"}}}],
            "initContainers": [
                container("3"),
                container("500m", restartPolicy="Always"),
                container("2"),
            ],
        }
    }
    requests, limits = asked(template)

    assert requests == {"cpu": 3, "memory": 1 << 30}  # 3 before the sidecar; 2.5 and 1.5 after
    assert limits == {"memory": 1 << 30}


def test_a_node_has_what_kubernetes_and_devices_have() -> None:
    names = ("cpu", "memory", "gpu", "pods", "ephemeral-storage", "hugepages-2Mi", "amd.com/gpu")

    assert tuple(parsed_node(",".join(f"{name}=1" for name in names))) == names


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cpu", "says no resource and amount"),
        ("cpu=8", "memory missing"),
        ("cpu=8,memory=lots", "'lots' is no amount of memory"),
        ("cpu=8,cpu=9,memory=1", "cpu stands there twice"),
        ("cpus=16,memory=64Gi", r"cpus is no resource: did you mean cpu\?"),
        ("cpu=16,memory=64Gi,GPU=8", r"GPU is no resource: did you mean gpu\?"),
        ("cpu=16,memory=64Gi,gpus=8", r"gpus is no resource: did you mean gpu\?"),
        ("cpu=16,memory=64Gi,foo=8", "foo is no resource: there are cpu, memory, gpu, pods, "),
    ],
)
def test_what_is_no_node_is_refused(text: str, words: str) -> None:
    with pytest.raises(RefusedError, match=words):
        parsed_node(text)
