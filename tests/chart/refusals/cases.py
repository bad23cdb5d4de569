"""Values that Kubernetes would not take, each with a neighbour that everything takes.

Of what these would render to, an API server refuses most (seen with Kubernetes 1.36); some
it takes, and no pod ever starts, or another number arrives than was written.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.chart.helm import merged

Values = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """Keys of a params file that both sides refuse.

    `chart` is a part of Helm's message, `tool` how the finding begins: its code and pointer.
    `instead` are the nearest keys that are right. `guard` names the chart's guard; where it is
    empty the schema refuses.
    """

    params: Values
    chart: str
    tool: str
    instead: Values
    guard: str = ""


def in_extra_values(
    values: Values, chart: str, tool: str, instead: Values, guard: str = ""
) -> Case:
    """A case of values that the chart gets as they are; in a params file they are extraValues."""
    return Case({"extraValues": values}, chart, tool, {"extraValues": instead}, guard)


def of_worker(**values: Any) -> Values:
    return {"worker": values}


def resources(role: str, **kinds: Values) -> Values:
    return {role: {"resources": kinds}}


def schema_case(values: Values, instead: Values, *, at: str = "", chart: str = "") -> Case:
    """A case of the schema, which both read; `at` is its pointer, by default that of the leaf."""
    pointer = at or pointer_of(values)
    return in_extra_values(
        values, chart or f"at '{pointer}'", f"TFC311 /extraValues{pointer}", instead
    )


def pointer_of(values: Any) -> str:
    """The JSON pointer of the only leaf; a list of scalars is one."""
    if isinstance(values, dict) and values:
        ((key, inner),) = values.items()
        return f"/{key.replace('~', '~0').replace('/', '~1')}{pointer_of(inner)}"
    return ""


def nested(path: str, value: Any) -> Values:
    for key in reversed(path.split(".")):
        value = {key: value}
    return dict(value)


def key_case(path: str, key: str, form: str) -> Case:
    """A key that Kubernetes would refuse in a mapping of labels, annotations or resources."""
    pointer = "/" + path.replace(".", "/")
    escaped = key.replace("~", "~0").replace("/", "~1")
    tool = f"TFC311 /extraValues{pointer}/{escaped}"
    good = nested(path, {"example.com/Team_1.x": form})
    return in_extra_values(nested(path, {key: form}), f"invalid propertyName '{key}'", tool, good)


REQUEST_OVER_LIMIT = {
    "the chart's own limit": (
        {"requests": {"memory": "8Gi"}},
        {"requests": {"memory": "8Gi"}, "limits": {"memory": "8Gi"}},
    ),
    "mixed suffixes": (
        {"requests": {"memory": "4097Mi"}},
        {"requests": {"memory": "4096Mi"}},
    ),
    "thousands and 1024s": (
        {"requests": {"memory": "1.1G"}, "limits": {"memory": "1Gi"}},
        {"requests": {"memory": "1.07G"}, "limits": {"memory": "1Gi"}},
    ),
}
KEYS = ("team name", "a/b/c", "a: b", "Upper.Example.com/x", "-a", "a" * 64, f"{'a' * 254}/x")
INT_32 = ("chief.backoffLimit", "worker.backoffLimit", "evaluator.backoffLimit")
TOO_LARGE = {
    **dict.fromkeys(INT_32, 3_000_000_000),
    "train.steps": 1e25,
    "train.stepsPerCall": 1e25,
    "train.batchSize": 2**31,
    "train.checkpoint.steps": 9007199254740992,
    "train.checkpoint.keep": 2**31,
    "train.checkpoint.seconds": 1e300,
    "train.reportSeconds": 1e300,
    "train.optimizer.schedule.warmupSteps": 1e19,
    "peers.deadlineSeconds": 1e300,
    "failure.restarts": 2**31,
    "failure.finalStateSeconds": 1e300,
    "run.attempt": 2**31,
    "ps.preStopSeconds": 1e19,
    "cleanup.delaySeconds.success": 1e300,
    "cleanup.delaySeconds.failure": 1e300,
    "cleanup.workersTimeoutSeconds": 1e300,
}
ACCELERATORS = (
    "nvidia.com/gpu",
    "nvidia.com/mig-1g.5gb",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "google.com/tpu",
    "aliyun.com/gpu-mem",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "huawei.com/Ascend910",
    "huawei.com/npu-core",
    "nvidia.com/gpu.shared",
    "volcano.sh/vgpu-number",
    "tencent.com/vcuda-core",
    "metax-tech.com/gpu",
    "mthreads.com/vgpu",
    "kunlunxin.com/xpu",
    "iluvatar.com/vcore",
    "enflame.com/gcu",
    "cambricon.com/mlu",
    "hygon.com/dcu",
    "qualcomm.com/qaic",
    "furiosa.ai/npu",
    "rebellions.ai/ATOM",
    "tenstorrent.com/n150",
    "furiosa.ai/rngd",
    "alibabacloud.com/ppu",
    "graphcore.ai/ipu",
    "sambanova.ai/rdu",
    "xilinx.com/fpga-xilinx_u250",
    "fpga.intel.com/region",
)
NO_ACCELERATORS = (
    "rdma/hca_shared_devices_a",
    "vpc.amazonaws.com/efa",
    "intel.com/sriov_netdevice",
    "openshift.io/sriovnet",
    "smarter-devices/fuse",
    "devices.kubevirt.io/kvm",
    "example.com/inputs",
)


def affinity(kind: str, terms: Any, *, required: bool = True) -> Values:
    rule = "required" if required else "preferred"
    return of_worker(affinity={kind: {f"{rule}DuringSchedulingIgnoredDuringExecution": terms}})


def node_terms(*terms: Values) -> Values:
    return affinity("nodeAffinity", {"nodeSelectorTerms": list(terms)})


def peers(*found: Values) -> Values:
    return {"security": {"networkPolicy": {"statusFrom": list(found)}}}


def variable(**source: Any) -> Values:
    return of_worker(extraEnv=[{"name": "TOKEN", "valueFrom": source}])


def mounted(**mount: Any) -> Values:
    mount = {"name": "scratch", "mountPath": "/scratch", **mount}
    volume = {"name": "scratch", "emptyDir": {}}
    return {"pod": {"extraVolumes": [volume], "extraVolumeMounts": [mount]}}


def script(*args: str) -> Values:
    return {"program": {"module": "", "script": "/data/train.py", "args": list(args)}}


def _names() -> Iterator[tuple[str, Case]]:
    places = (
        *(f"{role}.priorityClassName" for role in ("pod", "worker")),
        "storage.data.existingClaim",
        "storage.log.existingClaim",
        "storage.log.storageClassName",
    )
    for place in places:
        for name in ("a..b", "a.-b", "a" * 254) if place == places[0] else ("a..b",):
            case = schema_case(nested(place, name), nested(place, "a.b"))
            yield f"{place} {name[:8]}", case
    secrets = {"image": {"pullSecrets": ["a..b"]}}
    good = {"image": {"pullSecrets": ["a.b"]}}
    yield "image.pullSecrets", schema_case(secrets, good, at="/image/pullSecrets/0")
    address = {"url": "http://a.example/b.zip", "sha256": "ab" * 32}
    wrong, right = (
        {"program": {"source": address | {"secretName": name}}} for name in ("a..b", "a.b")
    )
    yield "program.source.secretName", schema_case(wrong, right, at="/program/source/secretName")
    # Its name would be too long for the objects' names.
    short = {"fullnameOverride": "short"}
    long = {"nameOverride": "a" * 64}
    fits = {"nameOverride": "a" * 63} | short
    yield "nameOverride of 64", schema_case(long | short, fits, at="/nameOverride")


def _resources() -> Iterator[tuple[str, Case]]:
    for name, (wrong, right) in REQUEST_OVER_LIMIT.items():
        yield (
            f"request over limit: {name}",
            in_extra_values(
                resources("worker", **wrong),
                "worker.resources.requests.memory is ",
                "TFC305 /extraValues/worker/resources/requests/memory",
                resources("worker", **right),
                "resources",
            ),
        )
    yield (
        "request over limit: processors",
        in_extra_values(
            resources("ps", requests={"cpu": "1001m"}, limits={"cpu": 1}),
            "ps.resources.requests.cpu is 1001m, over the limit of 1",
            "TFC305 /extraValues/ps/resources/requests/cpu",
            resources("ps", requests={"cpu": "1000m"}, limits={"cpu": 1}),
            "resources",
        ),
    )
    for amount in ("4 GB", "4GB", "two", "", "-1", "1e", "1KiB"):
        yield (
            f"memory {amount!r}",
            schema_case(
                resources("worker", limits={"memory": amount}),
                resources("worker", limits={"memory": "4G"}),
            ),
        )
    for path, amount, unit in (
        ("worker.resources.limits.memory", 4, "4Gi"),
        ("ps.resources.limits.ephemeral-storage", "500m", "500Mi"),
        ("pod.shmSize", "8", "8Gi"),
        ("worker.tmpSize", "1k", "1G"),
    ):
        wrong = nested(path, amount)
        at = pointer_of(wrong)
        right = nested(path, unit)
        if "memory" in path:  # without a request, which would be over the limit
            wrong = nested("worker.resources", {"requests": None, "limits": {"memory": amount}})
        yield (
            f"{path} without a unit",
            in_extra_values(
                wrong,
                f"{path} is {amount}, which is less than 1M: write the unit",
                f"TFC366 /extraValues{at}",
                right,
                "resources",
            ),
        )
    for name in (
        *("gpu", "foo bar", "nvidia/gpu/x", "requests", "Memory", "requests.rdma/hca"),
        *("hugepages-3Mi", "hugepages-2048Ki", f"hugepages-{'1' * 60}Gi", f"{'a' * 245}/x"),
    ):
        form = resources("worker", limits={name: 1})
        yield (
            f"resource {name[:24]!r}",
            schema_case(
                form,
                resources("worker", limits={"rdma/hca": 1}),
                chart=f"invalid propertyName '{name}'",
            ),
        )
    one = resources("worker", limits={"nvidia.com/gpu": 1})
    for why, kinds, chart, at in (
        ("in requests alone", {"requests": {"nvidia.com/gpu": 1}}, "has to stand in", "requests"),
        ("a part", {"limits": {"rdma/hca": 1.5}}, "is 1.5: only whole", "limits"),
        (
            "too many",
            {"limits": {"rdma/hca": 1e16}},
            "Kubernetes counts to 9000000000000000",
            "limits",
        ),
        ("a part as text", {"limits": {"nvidia.com/gpu": "500m"}}, "is 500m: only whole", "limits"),
        (
            "request under limit",
            {"requests": {"rdma/hca": 1}, "limits": {"rdma/hca": 2}},
            "worker.resources.requests.rdma/hca is 1",
            "requests",
        ),
    ):
        name = "rdma~1hca" if "rdma/hca" in str(kinds) else "nvidia.com~1gpu"
        yield (
            f"extended resource: {why}",
            in_extra_values(
                resources("worker", **kinds),
                chart,
                f"TFC340 /extraValues/worker/resources/{at}/{name}",
                one,
                "resources",
            ),
        )
    yield (
        "huge pages in requests alone",
        in_extra_values(
            resources("worker", requests={"hugepages-2Mi": "4Mi"}),
            "has to stand in",
            "TFC340 /extraValues/worker/resources/requests/hugepages-2Mi",
            resources("worker", requests={"hugepages-2Mi": "4Mi"}, limits={"hugepages-2Mi": "4Mi"}),
            "resources",
        ),
    )
    yield (
        "half a huge page",
        in_extra_values(
            resources("worker", limits={"hugepages-2Mi": "3Mi"}),
            "worker.resources.limits.hugepages-2Mi is 3Mi: only whole pages of 2Mi",
            "TFC340 /extraValues/worker/resources/limits/hugepages-2Mi",
            resources("worker", limits={"hugepages-2Mi": 6291456}),
            "resources",
        ),
    )
    for amount in ("2.0", "+2", "2k", "2000m", "2e0", "2."):
        yield (
            f"idle GPUs: {amount}",
            in_extra_values(
                resources("worker", limits={"nvidia.com/gpu": amount}),
                f"worker.resources asks for {amount} nvidia.com/gpu",
                "TFC327 /extraValues/worker/resources/limits/nvidia.com~1gpu",
                resources("worker", limits={"nvidia.com/gpu": amount.replace("2", "1", 1)})
                if amount != "2k"
                else one,
                "gpus",
            ),
        )
    for role in ("chief", "ps"):
        for name in ACCELERATORS if role == "ps" else ACCELERATORS[:1]:
            yield (
                f"{name} on {role}",
                in_extra_values(
                    resources(role, limits={name: 1}),
                    f"{role}.resources asks for 1 {name}",
                    f"TFC327 /extraValues/{role}/resources/limits/{name.replace('/', '~1')}",
                    resources(role, limits=dict.fromkeys(NO_ACCELERATORS, 1)),
                    "gpus",
                ),
            )


def _labels() -> Iterator[tuple[str, Case]]:
    for place, form in (
        ("commonLabels", "x"),
        ("worker.podLabels", "x"),
        ("ps.nodeSelector", "x"),
        ("commonAnnotations", "x"),
        ("chief.podAnnotations", "x"),
        ("storage.log.annotations", "x"),
    ):
        for key in KEYS if place == "commonLabels" else KEYS[:2]:
            yield f"{place} {key[:20]} of {len(key)}", key_case(place, key, form)
    for label in (
        "job-name",
        "controller-uid",
        "pod-template-hash",
        "batch.kubernetes.io/job-name",
        "batch.kubernetes.io/controller-uid",
        "batch.kubernetes.io/job-completion-index",
    ):
        yield (
            f"podLabels {label}",
            in_extra_values(
                of_worker(podLabels={label: "x"}),
                f"worker.podLabels sets the label {label}, which Kubernetes sets",
                f"TFC316 /extraValues/worker/podLabels/{label.replace('/', '~1')}",
                of_worker(podLabels={"team": "x"}),
                "labels",
            ),
        )
    large, fits = "x" * 262_144, "x" * 200_000
    for place in ("commonAnnotations", "pod.podAnnotations", "storage.log.annotations"):
        yield (
            f"{place} of 256 KiB",
            in_extra_values(
                nested(place, {"a": large}),
                f"{place} has 256 KiB",
                f"TFC341 /extraValues/{place.replace('.', '/')}",
                nested(place, {"a": fits}),
                "annotations",
            ),
        )


def _numbers() -> Iterator[tuple[str, Case]]:
    for path, number in TOO_LARGE.items():
        yield f"{path} {number}", schema_case(nested(path, number), nested(path, 20))
    seed = schema_case(nested("train.seed", 1e19), nested("train.seed", 2**31 - 1))
    yield "train.seed 1e19", seed
    for number in (1e16, -1e16, 9007199254740992.0, -9.9e20):
        yield (
            f"flags {number}",
            in_extra_values(
                {"flags": {"deep": {"list": [1, number]}}},
                "flags.deep.list[1] is ",
                "TFC109 /extraValues/flags/deep/list/1",
                {"flags": {"deep": {"list": [1, 9007199254740991, 1e21, -1e30, 1e300]}}},
                "flags",
            ),
        )


def _storage() -> Iterator[tuple[str, Case]]:
    right = nested("storage.log.size", "0.5Gi")
    for size in ("5 Gi", "-5Gi"):
        yield f"size {size}", schema_case(nested("storage.log.size", size), right)
    for size in ("0", "5m", "0Gi", "0.0Gi"):
        at = "TFC205 /extraValues/storage/log/size"
        chart = f"storage.log.size is {size}, which is less than 1M"
        yield (
            f"size {size}",
            in_extra_values(nested("storage.log.size", size), chart, at, right, "volumes"),
        )
    for volume in ("data", "log"):
        yield (
            f"a volume of an unknown class for {volume}",
            in_extra_values(
                {"storage": {volume: {"volumeName": "pv"}}},
                f"storage.{volume}.volumeName is pv",
                f"TFC342 /extraValues/storage/{volume}/volumeName",
                {"storage": {volume: {"volumeName": "pv", "storageClassName": ""}}},
                "volumes",
            ),
        )
    static = {"volumeName": "pv", "storageClassName": ""}
    yield (
        "one volume for both claims",
        in_extra_values(
            {"storage": {"data": static, "log": static}},
            "storage.data.volumeName and storage.log.volumeName are both pv",
            "TFC332 /extraValues/storage/log/volumeName",
            {"storage": {"data": static, "log": static | {"volumeName": "pv-2"}}},
            "volumes",
        ),
    )
    source = {"apiGroup": "snapshot.storage.k8s.io", "name": "old"}
    at = "storage.log.dataSource"
    right = nested(at, {**source, "kind": "VolumeSnapshot"})
    for kind in ("a kind", "\x7f"):
        wrong = nested(at, {**source, "kind": kind})
        pointer = "/storage/log/dataSource/kind"
        yield f"a source of the kind {kind!r}", schema_case(wrong, right, at=pointer)


def _characters() -> Iterator[tuple[str, Case]]:
    for character in ("\x7f", "\x85", "\x9f", "\uffff"):
        code = f"U+{ord(character):04X}"
        yield (
            f"{code} in a flag",
            in_extra_values(
                {"flags": {"a": {"b": [f"x{character}"]}}},
                "flags.a.b[0] has the character ",
                "TFC330 /extraValues/flags/a/b/0",
                {"flags": {"a": {"b": ["x\t\n\x1f\xa0ä"]}}},
                "characters",
            ),
        )
    yield (
        "a control character in a file",
        in_extra_values(
            {"program": {"source": {"files": {"a.py": "x = '\x7f'"}}}},
            'program.source.files.a.py has the character "\\x7f"',
            "TFC330 /extraValues/program/source/files/a.py",
            {"program": {"source": {"files": {"a.py": "x = '\\x7f'"}}}},
            "characters",
        ),
    )
    yield (
        "a control character in the name of a flag",
        schema_case(
            {"flags": {"a\x85": 1}},
            {"flags": {"a": 1}},
            at="/flags/a\x85",
            chart="invalid propertyName 'a",
        ),
    )


def _sizes() -> Iterator[tuple[str, Case]]:
    name = "TFC331 "
    for why, values, instead in (
        (
            "flags of less-than signs",
            {"flags": {"a": "<" * 180_000}},
            {"flags": {"a": "<" * 150_000}},
        ),
        (
            "files and flags",
            {
                "program": {"source": {"files": {"a.py": "x" * 500_000}}},
                "flags": {"a": "<" * 120_000},
            },
            {
                "program": {"source": {"files": {"a.py": "x" * 500_000}}},
                "flags": {"a": "<" * 80_000},
            },
        ),
    ):
        chart = "The ConfigMap of the tasks would have "
        yield f"a ConfigMap too large: {why}", in_extra_values(values, chart, name, instead, "size")


def _hosts() -> Iterator[tuple[str, Case]]:
    script = {"module": "", "script": "/data/train.py"}
    long = {"program": script, "fullnameOverride": "n" * 40}
    for role, workers, ps in (("worker", 1098, 1), ("ps", 134, 1000)):
        taken = {"worker": {"replicas": workers}, "ps": {"replicas": ps}}
        refused = merged(taken, {"worker": {"replicas": workers + 1}})
        yield (
            f"a script of too many {role}",
            in_extra_values(
                long | refused,
                "TF_CONFIG tells a script of ",
                f"TFC333 /extraValues/{role}/replicas",
                long | taken,
                "hosts",
            ),
        )


def _scheduling() -> Iterator[tuple[str, Case]]:
    exists = {"operator": "Exists"}
    right = of_worker(tolerations=[{"key": "a", "operator": "Exists", "effect": "NoSchedule"}])
    for why, toleration, at in (
        ("Exists with a value", {"key": "a", "operator": "Exists", "value": "b"}, "/value"),
        (
            "seconds of NoSchedule",
            {**exists, "effect": "NoSchedule", "tolerationSeconds": 5},
            "/effect",
        ),
        ("seconds of every effect", {**exists, "tolerationSeconds": 5}, ""),
        ("nothing", {}, ""),
        ("an operator behind a gate", {"key": "a", "operator": "Lt", "value": "5"}, "/operator"),
        ("a key that is none", {"key": "a b", "operator": "Exists"}, "/key"),
        ("a domain of 254", {"key": f"{'a' * 254}/x", "operator": "Exists"}, "/key"),
        ("a value that is none", {"key": "a", "value": "b c"}, "/value"),
    ):
        yield (
            f"toleration: {why}",
            schema_case(
                of_worker(tolerations=[toleration]), right, at=f"/worker/tolerations/0{at}"
            ),
        )
    node = "/worker/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution"
    good = node_terms({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]})
    term: Values
    for why, term, at in (
        ("a typing error", {"matchExpression": []}, ""),
        (
            "an operator",
            {"matchExpressions": [{"key": "a", "operator": "in"}]},
            "/matchExpressions/0/operator",
        ),
        (
            "In nothing",
            {"matchExpressions": [{"key": "a", "operator": "In"}]},
            "/matchExpressions/0",
        ),
        (
            "Gt a word",
            {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["b"]}]},
            "/matchExpressions/0/values/0",
        ),
        (
            "Exists with values",
            {"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]},
            "/matchExpressions/0/values",
        ),
        (
            "a key",
            {"matchExpressions": [{"key": "a b", "operator": "Exists"}]},
            "/matchExpressions/0/key",
        ),
        (
            "a value",
            {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b c"]}]},
            "/matchExpressions/0/values/0",
        ),
    ):
        yield (
            f"nodeAffinity: {why}",
            schema_case(node_terms(term), good, at=f"{node}/nodeSelectorTerms/0{at}"),
        )
    yield (
        "nodeAffinity: no terms",
        schema_case(node_terms(), good, at=f"{node}/nodeSelectorTerms"),
    )
    heavy = [{"weight": 101, "preference": {}}]
    light = [
        {"weight": 100, "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]}}
    ]
    yield (
        "nodeAffinity: a weight of 101",
        schema_case(
            affinity("nodeAffinity", heavy, required=False),
            affinity("nodeAffinity", light, required=False),
            at="/worker/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution/0/weight",
        ),
    )
    selector = {"matchLabels": {"team": "a"}}
    near = affinity("podAffinity", [{"topologyKey": "zone", "labelSelector": selector}])
    for why, term, at in (
        ("no topologyKey", {"labelSelector": selector}, ""),
        (
            "labels that are none",
            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b c"}}},
            "/labelSelector/matchLabels/a",
        ),
        ("a typing error", {"topologyKey": "zone", "selector": {}}, ""),
        ("no pods", {"topologyKey": "zone"}, ""),
        (
            "a namespace",
            {"topologyKey": "zone", "namespaces": ["a.b"], "labelSelector": selector},
            "/namespaces/0",
        ),
    ):
        for kind in ("podAffinity", "podAntiAffinity"):
            place = f"/worker/affinity/{kind}/requiredDuringSchedulingIgnoredDuringExecution/0{at}"
            yield (
                f"{kind}: {why}",
                schema_case(
                    affinity(kind, [term]), near, at=place, chart="requiredDuringScheduling"
                ),
            )


def _security() -> Iterator[tuple[str, Case]]:
    block = {"cidr": "10.0.0.0/8"}
    at = "/security/networkPolicy/statusFrom/0"
    for why, peer, place in (
        ("a block and a selector", {"ipBlock": block, "podSelector": {}}, ""),
        ("no range", {"ipBlock": {"cidr": "nonsense"}}, "/ipBlock/cidr"),
        ("a range too long", {"ipBlock": {"cidr": "10.0.0.0/33"}}, "/ipBlock/cidr"),
        ("a typing error", {"ipBlock": {"cidrs": "10.0.0.0/8"}}, "/ipBlock"),
        (
            "labels that are none",
            {"podSelector": {"matchLabels": {"a": "b c"}}},
            "/podSelector/matchLabels/a",
        ),
    ):
        yield f"peer: {why}", schema_case(peers(peer), peers({"ipBlock": block}), at=f"{at}{place}")
    wide = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}
    six = {"cidr": "fd00:0:12::/44", "except": ["fd00:0:1f::/48", "fd00:0:1a:abc0::/58"]}
    for why, block, good, chart, place in (
        (
            "an address with a prefix",
            {"cidr": "10.0.0.7/8"},
            wide,
            "has 10.0.0.7/8, which has bits beyond its first 8",
            "cidr",
        ),
        (
            "one of IPv6 in a part",
            {"cidr": "fd00::/16", "except": ["fd00:0:1f::/44"]},
            {**six, "cidr": "fd00:0:10::/44"},
            "has fd00:0:1f::/44, which has bits beyond its first 44",
            "except/0",
        ),
        (
            "a part that is elsewhere",
            wide | {"except": ["11.1.0.0/16"]},
            wide,
            "except has 11.1.0.0/16, which is no part of 10.0.0.0/8",
            "except/0",
        ),
        (
            "a part that is all",
            wide | {"except": ["10.0.0.0/8"]},
            wide,
            "except has 10.0.0.0/8, which is no part of 10.0.0.0/8",
            "except/0",
        ),
        (
            "a part of another family",
            wide | {"except": ["fd00::/16"]},
            {**six, "cidr": "fd00::/8"},
            "except has fd00::/16, which is no part of 10.0.0.0/8",
            "except/0",
        ),
    ):
        yield (
            f"range: {why}",
            in_extra_values(
                peers({"ipBlock": block}),
                chart,
                f"TFC349 /extraValues{at}/ipBlock/{place}",
                peers({"ipBlock": good}),
                "ranges",
            ),
        )
    for page in ("tensorboard", "notebook"):
        for block, good, chart, place in (
            (
                {"cidr": "192.168.1.7/24"},
                {"cidr": "192.168.1.0/24"},
                f"{page}.allowFrom[0].ipBlock has 192.168.1.7/24, which has bits beyond",
                "cidr",
            ),
            (
                wide | {"except": ["11.1.0.0/16"]},
                wide,
                f"{page}.allowFrom[0].ipBlock.except has 11.1.0.0/16, which is no part of",
                "except/0",
            ),
        ):
            wrong, right = (
                {page: {"enabled": True, "allowFrom": [{"ipBlock": one}]}} for one in (block, good)
            )
            tool = f"TFC349 /extraValues/{page}/allowFrom/0/ipBlock/{place}"
            yield f"{page}: {place}", in_extra_values(wrong, chart, tool, right, "ranges")
    context = "security.podSecurityContext"
    for key in ("runAsUser", "runAsGroup", "fsGroup"):
        large = nested(f"{context}.{key}", 2**53 - 1)
        yield f"{key} of 2^53", schema_case(large, nested(f"{context}.{key}", 1_000_650_000))
    profile = {"type": "Localhost"}
    right = {"type": "Localhost", "localhostProfile": "profiles/a.json"}
    for key in ("seccompProfile", "appArmorProfile"):
        yield (
            f"{key} without its file",
            schema_case(
                nested(f"{context}.{key}", profile),
                nested(f"{context}.{key}", right),
                at=f"/security/podSecurityContext/{key}",
            ),
        )
    inside = nested(f"{context}.seccompProfile", right)
    outside = nested(f"{context}.seccompProfile", profile | {"localhostProfile": "/etc/a.json"})
    at = "/security/podSecurityContext/seccompProfile/localhostProfile"
    yield "seccompProfile by its whole path", schema_case(outside, inside, at=at)
    sysctl = {"name": "net.ipv4.tcp_syncookies", "value": "1"}
    yield (
        "sysctls",
        schema_case(
            nested(f"{context}.sysctls", [{"a": "b"}]),
            nested(f"{context}.sysctls", [sysctl]),
            at="/security/podSecurityContext/sysctls/0",
        ),
    )


def _variables() -> Iterator[tuple[str, Case]]:
    secret = variable(secretKeyRef={"name": "a", "key": "b"})
    at = "/worker/extraEnv/0/valueFrom"
    for why, source, place in (
        ("a secret without key", {"secretKeyRef": {"name": "a"}}, "/secretKeyRef"),
        (
            "a typing error",
            {"secretKeyRef": {"name": "a", "key": "b", "optinal": True}},
            "/secretKeyRef",
        ),
        ("a field without path", {"fieldRef": {}}, "/fieldRef"),
        (
            "a field that is none",
            {"fieldRef": {"fieldPath": "spec.hostname"}},
            "/fieldRef/fieldPath",
        ),
        (
            "a resource that is none",
            {"resourceFieldRef": {"resource": "limits"}},
            "/resourceFieldRef/resource",
        ),
    ):
        yield f"variable: {why}", schema_case(variable(**source), secret, at=f"{at}{place}")
    for name, divisor, good in (("memory", "2", "1Mi"), ("cpu", "1Mi", "1m"), ("cpu", 2, 1)):
        field = {"resource": f"limits.{name}"}
        yield (
            f"variable: {name} in units of {divisor}",
            schema_case(
                variable(resourceFieldRef=field | {"divisor": divisor}),
                variable(resourceFieldRef=field | {"divisor": good}),
                at=f"{at}/resourceFieldRef/divisor",
            ),
        )
    yield (
        "an argument that names an unknown variable",
        in_extra_values(
            script("--a=$(FOO)"),
            "program.args[0] uses $(FOO)",
            "TFC322 /program/args/0",
            script("--a=$$(FOO)", "--b=$(PS_HOSTS)"),
            "arguments",
        ),
    )
    for path in ("$(POD)/../a", "/$(POD)", "a b"):
        yield (
            f"a directory by a variable: {path}",
            schema_case(
                mounted(subPathExpr=path),
                mounted(subPathExpr="$(POD)/a.b"),
                at="/pod/extraVolumeMounts/0/subPathExpr",
            ),
        )


CASES: dict[str, Case] = dict(
    case
    for part in (
        _names,
        _resources,
        _labels,
        _numbers,
        _storage,
        _characters,
        _sizes,
        _hosts,
        _scheduling,
        _security,
        _variables,
    )
    for case in part()
)
