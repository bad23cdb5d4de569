"""GPUs that no task would use; devices and huge pages in amounts that Kubernetes refuses."""

import re
from collections.abc import Iterator

from tf_cluster.expand.quantity import is_quantity, quantity
from tf_cluster.expand.roles import PODS, gpus_used
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import dotted

IDLE_GPUS = Code(
    "TFC327",
    "GPUs that a task would not use",
    why="The GPU would be reserved, and paid for, and nothing would compute on it.",
    wrong="extraValues: {chief: {resources: {limits: {nvidia.com/gpu: 1}}}}",
    right="extraValues: {worker: {resources: {limits: {nvidia.com/gpu: 1}}}}",
)
UNUSED_GPU_SETTING = Code(
    "TFC347",
    "a setting of GPUs that no task asks for",
    why="They are those of the tasks that ask for GPUs, so nothing would use them.",
    wrong="gpus: {worker: 0, image: 'localhost/tf-cluster-trainer:gpu'}",
    right="gpus: {worker: 1, image: 'localhost/tf-cluster-trainer:gpu'}",
)
COUNTED_RESOURCE = Code(
    "TFC340",
    "devices or huge pages that Kubernetes can't give so",
    why="Kubernetes refuses the pod: devices are whole, and their limit is what is given.",
    wrong="extraValues: {worker: {resources: {requests: {nvidia.com/gpu: 1}}}}",
    right="extraValues: {worker: {resources: {limits: {nvidia.com/gpu: 1}}}}",
)

DEVICES = r"/gpu(\.shared)?$|/mig-|/(i915|xe)$"
"""Resources counted in devices that TensorFlow computes on."""
ACCELERATORS = (
    r"(?i)gpu|[tnixdp]pu\b|/mig-|/(i915|xe)$|neuron|gaudi|ascend|/(mlu|dcu|gcu|rdu|qaic)"
    r"|vcuda|vcore|fpga|rebellions|tenstorrent|furiosa"
)
"""Accelerator resources, in any unit. A task that computes on CPUs uses none of them."""

MOST_DEVICES = 9 * 10**15
"""Kubernetes checks that devices are whole in thousandths, of which an int64 has so many."""

_ON_CPUS = ("it computes on CPUs and is shown no GPU", "leave it out")
_ON_ONE = {
    "worker": (
        "with parameter servers a worker computes on one",
        "ask for 1 and for more workers, or set strategy: all-reduce",
    ),
    "evaluator": ("an evaluator computes on one", "ask for 1"),
}


def check(params: Params) -> Iterator[Finding]:
    """At most one finding for each resource: that it is idle, or else how it is counted."""
    idle = list(_idle(params))
    yield from idle
    reported = {finding.pointer for finding in idle}
    yield from (finding for finding in _counted(params) if finding.pointer not in reported)
    yield from _unused(params)


def _idle(params: Params) -> Iterator[Finding]:
    for role, most in gpus_used(params.effective).items():
        idle = re.compile(DEVICES if most else ACCELERATORS)
        asked = {
            name: (role, "resources", kind, name)
            for kind in ("requests", "limits")
            for name in params.value_at((role, "resources", kind)) or {}
            if idle.search(name)
        }
        for name, path in asked.items():
            amount = params.value_at(path)
            if not is_quantity(amount) or quantity(str(amount)) <= most:
                continue
            why, fix = _ON_ONE[role] if most else _ON_CPUS
            message = f"{role} asks for {amount} {name}, but {why}"
            where = params.origin_of(path)
            yield params.finding(where, IDLE_GPUS, message, amount, fix)


def _unused(params: Params) -> Iterator[Finding]:
    """Settings of `gpus` that stand beside no GPU."""
    gpus = params.written_at(("gpus",))
    if not isinstance(gpus, dict) or gpus.get("worker") != 0 or gpus.get("evaluator"):
        return
    for key in ("image", "vendor"):
        if key in gpus:
            message = f"gpus.{key} is set, but gpus counts none"
            fix = f"say the number in gpus.worker, or leave out gpus.{key}"
            yield params.finding(("gpus", key), UNUSED_GPU_SETTING, message, gpus[key], fix)


def _counted(params: Params) -> Iterator[Finding]:
    """Devices are whole numbers; devices and huge pages need a limit, equal to any request."""
    for role in PODS:
        amounts = {
            kind: params.value_at((role, "resources", kind)) or {}
            for kind in ("requests", "limits")
        }
        limits = amounts["limits"]
        for kind, name in [(kind, name) for kind, named in amounts.items() for name in named]:
            amount = amounts[kind][name]
            if "/" not in name and not name.startswith("hugepages-"):
                continue
            if not is_quantity(amount) or not is_quantity(limits.get(name, 0)):
                continue  # told by its form
            path = (role, "resources", kind, name)
            page = "" if "/" in name else name.removeprefix("hugepages-")
            if "/" in name and quantity(str(amount)).denominator != 1:
                why, fix = "only whole ones can be asked for", "ask for whole ones"
            elif "/" in name and quantity(str(amount)) > MOST_DEVICES:
                why, fix = f"Kubernetes counts to {MOST_DEVICES}", "ask for fewer"
            elif page and (quantity(str(amount)) / quantity(page)).denominator != 1:
                why, fix = f"only whole pages of {page} can be asked for", "ask for whole pages"
            elif name not in limits:
                why, fix = f"{role}.resources.limits has none", "write it there instead"
            elif quantity(str(amount)) != quantity(str(limits[name])):
                why, fix = f"its limit is {limits[name]}", "leave the request out"
            else:
                continue
            where = params.origin_of(path)
            message = f"{dotted(path)} is {amount}, and {why}"
            yield params.finding(where, COUNTED_RESOURCE, message, amount, fix)
