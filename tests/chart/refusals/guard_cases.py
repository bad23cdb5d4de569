"""What the chart's guards refuse of a training's own settings, through each key of a params file.

What Kubernetes would refuse is in cases.py. `helm` is asked one case of each message and code: it
takes much longer than the tool, and tests/chart/test_guards.py asks it for every role.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tf_cluster.checks.env import NOTEBOOK_VARIABLES, RESERVED_VARIABLES
from tf_cluster.checks.labels import RESERVED_LABELS

from tests.chart.helm import CHART, LEAST
from tests.chart.refusals.cases import Case, Values, in_extra_values, nested, of_worker, resources

Named = Iterator[tuple[str, Case]]

GUARDS = (CHART / "templates" / "_guards.tpl").read_text()
MODULE = LEAST["program"]
EVALUATED = {"evaluator": True}
URL = "http://example.com/code.zip"
LABELLED = {"matchLabels": {"team": "vision"}}
COMMIT = {"git": "http://example.com/code.git", "commit": "ab" * 20}
LOGIN = {"secretName": "code-login"}
FILES = {"files": {"a.py": ""}}
PAIRS = {"url": URL, "sha256": "ab" * 32}


def extra(values: Values, **params: Any) -> Values:
    """Keys of a params file with these extraValues."""
    return {**params, "extraValues": values}


def train(**optimizer: Any) -> Values:
    return {"train": {"optimizer": optimizer}}


def _nulls() -> Named:
    (listed,) = re.findall(r"range \$path := list\n(.*?) \}\}", GUARDS, re.DOTALL)
    for path in re.findall(r'"([\w.]+)"', listed):
        wrong = nested(path, None)
        yield path, in_extra_values(wrong, "is null. Leave the line out", "TFC31", {}, "null")


def _enabled() -> Named:
    chart = "enabled is false: only an umbrella chart can leave this chart out"
    right = extra({"enabled": True})
    wrong = extra({"enabled": False})
    yield "no chart", Case(wrong, chart, "TFC334 /extraValues/enabled", right, "enabled")


def _image() -> Named:
    right = extra({"image": {"repository": "registry.example:5000/trainer"}}, image=None)
    empty = "image.repository is empty"
    yield "no image", Case({"image": None}, empty, "TFC308 /image", right, "image")
    wrong = extra({"image": {"repository": ""}}, image=None)
    yield "an empty repository", Case(wrong, empty, "TFC308 /image", right, "image")
    wrong = extra({"image": {"repository": "registry.example/trainer:1"}}, image=None)
    tool = "TFC206 /extraValues/image/repository"
    chart = "the tag goes into image.tag"
    yield "a tag in the repository", Case(wrong, chart, tool, right, "image")
    wrong = extra(
        {"image": {"repository": f"registry.example/trainer@sha256:{'ab' * 32}"}}, image=None
    )
    yield "a digest in the repository", Case(wrong, chart, tool, right, "image")
    wrong, right = (
        of_worker(image={"repository": name}) for name in ("r.example/gpu:1", "r.example/gpu")
    )
    chart, tool = (
        "the tag goes into worker.image.tag",
        "TFC206 /extraValues/worker/image/repository",
    )
    yield "a tag in a role's repository", in_extra_values(wrong, chart, tool, right, "image")
    wrong, right = (
        of_worker(image={"registry": "r.example", "repository": name})
        for name in ("r.example/gpu", "other.example/gpu")
    )
    chart = "worker.image.repository is r.example/gpu, and a registry is put before it: r.example"
    yield "a registry twice", in_extra_values(wrong, chart, tool, right, "image")
    whole = {"repository": "r.example/team/trainer"}
    wrong, right = (
        extra({"image": whole} | of_worker(image={"registry": registry}), image=None)
        for registry in ("r.example", "mirror.example")
    )
    chart = "worker.image.registry is r.example, and image.repository begins with it"
    tool = "TFC206 /extraValues/worker/image/registry"
    yield "a role's registry twice", Case(wrong, chart, tool, right, "image")
    wrong, right = (
        extra(of_worker(image={"registry": registry}), image="r.example/team/trainer:1")
        for registry in ("r.example", "r.example:5000")
    )
    yield "a role's registry, in the image of all", Case(wrong, chart, tool, right, "image")


def _program() -> Named:
    def case(program: Values, chart: str, tool: str, instead: Values = MODULE) -> Case:
        wrong = extra({"program": program}, program=MODULE)
        return Case(wrong, chart, tool, {"program": instead}, "program")

    at = "/extraValues/program"
    yield "no program", case({"module": ""}, "program.module is empty", f"TFC310 {at}/module")
    both = "which of them shall be"
    script = {"script": "/a.py"}
    yield "a script beside a module", case(script, both, f"TFC207 {at}/script", script)
    alien = "program.args and program.ps are for a program.script"
    words = {"script": "/a.py", "args": ["a"]}
    yield "arguments of a module", case({"args": ["a"]}, alien, f"TFC207 {at}/args", words)
    yield (
        "a script that is nowhere",
        Case(
            {"program": {"script": "train.py"}},
            "program.script is train.py: where is it?",
            "TFC309 /program/script",
            {"program": {"script": "train.py", "path": "/data/code"}},
            "program",
        ),
    )
    on_ps = {"script": "/a.py", "ps": "script"}
    yield (
        "a script on ps that are not there",
        Case(
            {"program": on_ps, "strategy": "all-reduce"},
            "program.ps is script, but strategy all-reduce has no parameter servers",
            "TFC318 /program/ps",
            {"program": on_ps},
            "program",
        ),
    )


def _interactive() -> Named:
    wrong = extra({"interactive": {"enabled": True}})
    right = extra({"interactive": {"enabled": False}})
    chart = "a client drives the tasks, and they run no program"
    tool = "TFC360 /extraValues/interactive/enabled"
    yield "a program beside a client", Case(wrong, chart, tool, right, "interactive")
    for section, values, chart in (
        ("train", {"steps": 5}, "so no task reads train.steps (5)"),
        ("flags", {"hidden": 64}, 'so no program reads flags ({"hidden":64})'),
        ("worker", {"successPolicy": "first"}, "in an interactive cluster no worker ends"),
    ):
        wrong = extra({"interactive": {"enabled": True}, section: values})
        yield f"{section} beside a client", Case(wrong, chart, tool, right, "interactive")


def _monitoring() -> Named:
    asked = {"monitoring": {"podMonitor": {"enabled": True}}}
    reader = {"podSelector": {"matchLabels": {"app": "prometheus"}}}
    right = extra(asked | {"security": {"networkPolicy": {"statusFrom": [reader]}}})
    chart = "security.networkPolicy.statusFrom lets nobody read the metrics"
    tool = "TFC362 /extraValues/monitoring/podMonitor/enabled"
    yield "a closed door", Case(extra(asked), chart, tool, right, "monitoring")
    asked = {"monitoring": {"scrapeAnnotations": True}}
    right = extra(asked | {"security": {"networkPolicy": {"enabled": False}}})
    chart, tool = (
        "monitoring.scrapeAnnotations is true, but",
        "TFC362 /extraValues/monitoring/scrapeAnnotations",
    )
    yield "annotations at a closed door", Case(extra(asked), chart, tool, right, "monitoring")


def _notebook() -> Named:
    digest = {"image": {"repository": "r.example/trainer", "digest": f"sha256:{'ab' * 32}"}}
    wrong = extra(digest | {"notebook": {"enabled": True}}, image=None)
    right = extra(digest | {"notebook": {"enabled": True, "image": {"tag": "n"}}}, image=None)
    chart = "JupyterLab is in another image, of the target notebook"
    tool = "TFC361 /extraValues/notebook/enabled"
    yield "the trainer's digest", Case(wrong, chart, tool, right, "notebook")


def _node_ports() -> Named:
    def pages(tensorboard: int, notebook: int) -> Values:
        ports = {"tensorboard": tensorboard, "notebook": notebook}
        return {
            page: {"enabled": True, "service": {"type": "NodePort", "nodePort": port}}
            for page, port in ports.items()
        }

    chart = "notebook.service.nodePort is 30606, as tensorboard.service.nodePort"
    tool = "TFC367 /extraValues/notebook/service/nodePort"
    wrong, right = pages(30606, 30606), pages(30606, 30607)
    yield "a page's port", in_extra_values(wrong, chart, tool, right, "nodePorts")
    section = {"name": "public", "sectionName": "https"}
    for why, wrong_refs, right_refs in (
        ("a Gateway twice", [{"name": "public"}] * 2, [{"name": "public"}, {"name": "other"}]),
        (
            "a Gateway's section twice",
            [section, section | {"kind": "Gateway"}],
            [section, section | {"sectionName": "http"}],
        ),
        (
            "a Gateway whole and by a section",
            [section, {"name": "public", "group": "gateway.networking.k8s.io"}],
            [section, {"name": "public", "group": ""}],
        ),
    ):

        def route(refs: list[Values]) -> Values:
            return {
                "tensorboard": {"enabled": True, "httpRoute": {"enabled": True, "parentRefs": refs}}
            }

        yield (
            why,
            in_extra_values(
                route(wrong_refs),
                "tensorboard.httpRoute.parentRefs names one parent again",
                "TFC348 /extraValues/tensorboard/httpRoute/parentRefs/1",
                route(right_refs),
                "routes",
            ),
        )


def _scheduling() -> Named:
    def case(scheduling: Values, chart: str, key: str, instead: Values, **beside: Any) -> Case:
        wrong, right = ({"scheduling": one} | beside for one in (scheduling, instead))
        tool = f"TFC350 /extraValues/{key}"
        return in_extra_values(wrong, chart, tool, right, "scheduling")

    def of(provider: str, **settings: Any) -> Values:
        return {"gang": {"provider": provider, **settings}}

    shared = {"accessModes": ["ReadWriteMany"]}
    spread = {"scheduling": {"placement": "spread"}}
    yield (
        "a spread over one node",
        in_extra_values(
            spread,
            "scheduling.placement is spread, but the pods that mount a claim have to share a node",
            "TFC350 /extraValues/scheduling/placement",
            spread | {"storage": {"data": shared, "log": shared}},
            "scheduling",
        ),
    )
    near = {"scheduling": {"psNearWorkers": True}}
    yield (
        "no ps near workers",
        Case(
            extra(near, strategy="all-reduce"),
            "scheduling.psNearWorkers is true, but strategy all-reduce has no parameter servers",
            "TFC350 /extraValues/scheduling/psNearWorkers",
            extra(near),
            "scheduling",
        ),
    )
    at = "scheduling/gang"
    yield (
        "a gang of nobody's",
        case(
            of("none", minMember=2),
            "scheduling.gang.minMember is for coscheduling and volcano, and",
            f"{at}/minMember",
            of("volcano", minMember=2),
        ),
    )
    yield (
        "volcano's queue",
        case(
            of("coscheduling", queue="team"),
            "scheduling.gang.queue is for volcano, and scheduling.gang.provider is coscheduling",
            f"{at}/queue",
            of("volcano", queue="team"),
        ),
    )
    yield (
        "a timeout of volcano's",
        case(
            of("volcano", timeoutSeconds=30),
            "scheduling.gang.timeoutSeconds is for coscheduling, and",
            f"{at}/timeoutSeconds",
            of("coscheduling", timeoutSeconds=30),
        ),
    )
    yield (
        "a gang larger than the training",
        case(
            of("coscheduling", minMember=5),
            "scheduling.gang.minMember is 5, but the training has 4 tasks",
            f"{at}/minMember",
            of("coscheduling", minMember=4),
        ),
    )
    for section in ("pod", "ps"):
        yield (
            f"two schedulers of a gang, by {section}",
            case(
                of("coscheduling"),
                f"{section}.schedulerName is mine, but scheduler-plugins-scheduler schedules",
                f"{section}/schedulerName",
                of("coscheduling", schedulerName="mine"),
                **{section: {"schedulerName": "mine"}},
            ),
        )
        for provider, name, key in (
            ("coscheduling", "podLabels", "scheduling.x-k8s.io/pod-group"),
            ("volcano", "podAnnotations", "scheduling.k8s.io/group-name"),
        ):
            yield (
                f"another gang, by {section} of {provider}",
                case(
                    of(provider),
                    f"{section}.{name} has {key}, which names the gang that pods are of",
                    f"{section}/{name}/{key.replace('/', '~1')}",
                    of("none"),
                    **{section: {name: {key: "mine"}}},
                ),
            )


def _source() -> Named:
    def case(program: Values, chart: str, tool: str, **instead: Any) -> Case:
        wrong = extra({"program": program}, program=MODULE)
        right = extra({"program": instead}, program=MODULE)
        return Case(wrong, chart, f"{tool.replace(' ', ' /extraValues/program/')}", right, "source")

    alone = {"source": {"url": URL}}
    yield "no hash", case(alone, "sha256 is empty", "TFC202 source/url", source=PAIRS)
    both = {"source": COMMIT | FILES}
    chart = "the code comes from one place"
    yield "two sources", case(both, chart, "TFC207 source/git", source=COMMIT)
    chart = "only program.source.url and program.source.git need a login"
    for why, source in {"nothing": {}, "files": FILES}.items():
        wrong = {"source": source | LOGIN}
        yield (
            f"a login for {why}",
            case(wrong, chart, "TFC207 source/secretName", source=PAIRS | LOGIN),
        )
    chart = "with a program.source it is a path in that"
    outside, inside = {"path": "/x", "source": FILES}, {"path": "x", "source": FILES}
    yield "a whole path beside a source", case(outside, chart, "TFC326 path", **inside)
    for key, path, good in (("path", "../x", "x"), ("script", "/data/train.py", "train.py")):
        program = {"source": COMMIT, **(MODULE if key == "path" else {})}
        yield (
            f"a {key} out of the source",
            Case(
                {"program": program | {key: path}},
                f"program.{key} is {path}, but {chart}",
                f"TFC326 /program/{key}",
                {"program": program | {key: good}},
                "source",
            ),
        )
    large = {"source": {"files": {"a.py": "&" * 90_000}}}
    fits = {"files": {"a.py": "&" * 80_000}}
    chart = "KiB as JSON; 512 KiB is the most"
    yield "large files", case(large, chart, "TFC325 source/files", source=fits)


def _combination() -> Named:
    def case(params: Values, tool: str, instead: Values) -> Case:
        return Case(params, "is no combination that TensorFlow has", tool, instead, "combination")

    reduced = {"strategy": "all-reduce"}
    yield (
        "all-reduce, async",
        case(
            reduced | {"update": "async"},
            "TFC303 /update",
            {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"},
        ),
    )
    yield (
        "all-reduce, in-graph",
        case(
            extra({"strategy": "all-reduce", "replication": "in-graph"}),
            "TFC303 /extraValues/replication",
            extra({"replication": "between-graph"}, **reduced),
        ),
    )
    yield (
        "all-reduce of extraValues, in-graph of the file",
        case(
            extra(reduced, replication="in-graph"),
            "TFC303 /replication",
            extra(reduced, preset="small"),
        ),
    )


def _momentum() -> Named:
    right = train(name="Momentum", momentum=0)
    alien, missing = "only Momentum has it", "set train.optimizer.momentum"
    for tool, params, chart in (
        ("TFC304 /train/optimizer/momentum", train(momentum=0.5), alien),
        ("TFC304 /extraValues/train/optimizer/momentum", extra(train(momentum=0)), alien),
        ("TFC313 /train/optimizer/name", train(name="Momentum"), missing),
        ("TFC313 /extraValues/train/optimizer/name", extra(train(name="Momentum")), missing),
    ):
        yield tool, Case(params, chart, tool, right, "momentum")


def _schedule() -> Named:
    warm = train(schedule={"warmupSteps": 10})
    cosine = train(schedule={"name": "cosine", "warmupSteps": 10, "endFactor": 0})
    slow = train(schedule={"name": "exponential", "endFactor": 0.1, "decaySteps": 5})
    constant, endless = "by the schedule constant nothing decays", "which never comes to 0"
    end = extra(train(schedule={"endFactor": 0}))
    for tool, params, chart, instead in (
        ("TFC319 /decaySteps", train(schedule={"decaySteps": 9}), constant, warm),
        ("TFC319 /endFactor", end, constant, cosine),
        ("TFC320 /name", train(schedule={"name": "exponential"}), endless, slow),
        (
            "TFC320 /endFactor",
            train(schedule={"name": "exponential", "endFactor": 0}),
            endless,
            slow,
        ),
    ):
        place = "/extraValues" if "extraValues" in params else ""
        told = tool.replace(" ", f" {place}/train/optimizer/schedule")
        yield tool, Case(params, chart, told, instead, "schedule")


def _success() -> Named:
    wrong = extra({"worker": {"successPolicy": "first"}})
    right = extra({"worker": {"successPolicy": "first"}}, replication="between-graph")
    chart, tool = "but a chief ends this run", "TFC328 /extraValues/worker/successPolicy"
    yield "a chief", Case(wrong, chart, tool, right, "success")


def _pre_stop() -> Named:
    none = {"ps": {"preStopSeconds": 0, "terminationGracePeriodSeconds": 0}}
    for key, seconds in (("preStopSeconds", 30), ("terminationGracePeriodSeconds", 1)):
        chart, tool = "the first is a part of the second", f"TFC317 /extraValues/ps/{key}"
        yield key, in_extra_values(nested(f"ps.{key}", seconds), chart, tool, none, "preStop")


def _gpus() -> Named:
    one = resources("worker", limits={"nvidia.com/gpu": 1})
    memory = resources("worker", limits={"gpu.intel.com/memory.max": 8})
    for role, kind, name, amount, instead in (
        ("worker", "limits", "nvidia.com/gpu", 2, one),
        ("worker", "requests", "amd.com/gpu", "4", memory),
        ("evaluator", "limits", "nvidia.com/gpu.shared", 2, one),
        ("chief", "limits", "nvidia.com/gpu", 1, one),
        ("ps", "limits", "nvidia.com/mig-1g.5gb", 1, one),
    ):
        wrong = {role: {"resources": {kind: {name: amount}}}}
        yield (
            f"{amount} {name} on {role}",
            Case(
                extra(wrong, **(EVALUATED if role == "evaluator" else {})),
                f"{role}.resources asks for {amount} {name}",
                f"TFC327 /extraValues/{role}/resources/{kind}/{name.replace('/', '~1')}",
                extra(instead),
                "gpus",
            ),
        )


def _name() -> Named:
    long, fits = extra({"fullnameOverride": "a" * 41}, preset="small"), {"name": "a" * 40}
    yield "a name of 41", Case(long, "has 41 characters; 40 is the most", "TFC310 ", fits, "name")


def _claims() -> Named:
    for volume in ("data", "log"):
        right = {volume: {"claim": "c", "accessModes": ["ReadWriteMany"]}}
        for key, other, value in (
            ("volume", "volumeName", "pv"),
            ("class", "storageClassName", "nfs"),
            ("", "annotations", {"a": "b"}),
            ("", "selector", LABELLED),
            ("", "dataSource", {"kind": "PersistentVolumeClaim", "name": "old"}),
        ):
            at = f"/extraValues/storage/{volume}/{other}"
            both = extra({"storage": {volume: {"existingClaim": "c", other: value}}})
            beside = extra({"storage": {volume: {other: value}}}, **{volume: {"claim": "c"}})
            for why, params, place in (
                ("in extraValues", both, at),
                ("beside a claim of the file", beside, at),
                ("in the file", {volume: {"claim": "c", key: value}}, f"/{volume}/{key}"),
            ):
                if key or why != "in the file":
                    yield (
                        f"{volume} {other} {why}",
                        Case(
                            params,
                            "so the chart makes no claim",
                            f"TFC207 {place}",
                            right,
                            "claims",
                        ),
                    )

    nothing = "so /data is an empty directory"
    none = {"data": {"enabled": False}}
    for key, other, value in (
        ("claim", "existingClaim", "c"),
        ("subPath", "subPath", "mine"),
        ("volume", "volumeName", "pv"),
    ):
        beside = {"data": {"enabled": False, key: value}}
        told = f"TFC207 /data/{key}"
        yield f"no data, {other}", Case(beside, nothing, told, none, "claims")
    at = "TFC207 /extraValues/storage/data/storageClassName"
    both = {"storage": {"data": {"enabled": False, "storageClassName": "nfs"}}}
    yield "no data, a class", in_extra_values(both, nothing, at, {}, "claims")


def _selector() -> Named:
    for volume in ("data", "log"):
        wrong = extra({"storage": {volume: {"selector": LABELLED}}})
        right = extra({"storage": {volume: {"selector": LABELLED, "storageClassName": ""}}})
        told = f"TFC342 /extraValues/storage/{volume}/selector"
        yield f"{volume} without a class", Case(wrong, "never binds", told, right, "volumes")


def _colocate() -> Named:
    shared = {"data": {"accessModes": ["ReadWriteMany"]}, "log": {"accessModes": ["ReadWriteMany"]}}
    apart = {"storage": {"colocate": False}}
    right = extra(apart, **shared)
    told = "TFC344 /extraValues/storage/colocate"
    for volume in ("data", "log"):
        wrong = extra(apart, **{**shared, volume: {"accessModes": ["ReadWriteOnce"]}})
        yield (
            f"{volume} of one node",
            Case(wrong, "which one node can mount", told, right, "colocate"),
        )
    wrong = extra({"storage": {"colocate": False}}, preset="small")
    instead = extra(apart, data={"enabled": False}, log=shared["log"])
    yield "the preset", Case(wrong, "which one node can mount", told, instead, "colocate")


def _variables() -> Named:
    right = of_worker(extraEnv=[{"name": "A"}, {"name": "B"}])
    reserved = [(name, "TFC314", "Reserved are") for name in (*RESERVED_VARIABLES, "TF_CLUSTER_X")]
    for role in ("pod", "chief", "worker", "ps", "evaluator", "cleanup"):
        for name, code, chart in (*reserved, ("A", "TFC315", "has A twice")):
            wrong = {role: {"extraEnv": [{"name": "A"}, {"name": name}]}}
            tool = f"{code} /extraValues/{role}/extraEnv/1/name"
            params = extra(wrong, **EVALUATED)
            yield f"{role}: {name}", Case(params, chart, tool, extra(right), "env")
    for role in ("pod", "notebook", "tensorboard"):
        for name in NOTEBOOK_VARIABLES:
            wrong = {role: {"extraEnv": [{"name": name, "value": "x"}]}}
            tool = f"TFC314 /extraValues/{role}/extraEnv/0/name"
            chart = "which JupyterLab is told by the chart"
            yield f"{role}: {name}", Case(extra(wrong), chart, tool, extra(right), "env")
    script = {"program": {"script": "/a.py"}}
    yield (
        "a variable that a script is told",
        Case(
            extra({"ps": {"extraEnv": [{"name": "LOG_DIR"}]}}, **script),
            "which a script is told by the trainer",
            "TFC314 /extraValues/ps/extraEnv/0/name",
            extra(right, **script),
            "env",
        ),
    )


def _labels() -> Named:
    right = extra({"commonLabels": {"app.kubernetes.io/part-of": "research"}})
    chart = "which is the chart's own"
    for role in ("pod", "chief", "worker", "ps", "evaluator", "cleanup"):
        for label in (*RESERVED_LABELS, "tf-cluster.io/attempt"):
            params = extra({role: {"podLabels": {label: "x"}}}, **EVALUATED)
            tool = f"TFC316 /extraValues/{role}/podLabels/{label.replace('/', '~1')}"
            yield f"{role}: {label}", Case(params, chart, tool, right, "labels")
    common = extra({"commonLabels": {"helm.sh/chart": "x"}})
    tool = "TFC316 /extraValues/commonLabels/helm.sh~1chart"
    yield "a common label", Case(common, chart, tool, right, "labels")


SCRATCH = {"name": "scratch", "emptyDir": {}}
TOOL = {"name": "tool", "image": "tool:1"}


REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
NEAR = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"team": "a"}}}


def _sysctls(*settings: Values) -> Values:
    return {"security": {"podSecurityContext": {"sysctls": list(settings)}}}


def _parts_of_pods() -> Named:
    """Wrong, what the chart says, where the tool says it, right."""
    mount = {"name": "scratch", "mountPath": "/scratch"}
    claim = {"name": "gpu", "resourceClaimName": "mine"}
    cases: tuple[tuple[str, Values, str, str], ...] = (
        (
            "a volume of ours",
            {"extraVolumes": [{"name": "log", "emptyDir": {}}]},
            "pod.extraVolumes has a volume named log",
            "extraVolumes/0/name",
        ),
        (
            "two volumes",
            {"extraVolumes": [SCRATCH, SCRATCH]},
            "pod.extraVolumes has two volumes named scratch",
            "extraVolumes/1/name",
        ),
        (
            "two files of one path",
            {
                "extraVolumes": [
                    {
                        "name": "words",
                        "projected": {
                            "sources": [
                                {"secret": {"name": kind, "items": [{"key": "k", "path": "p"}]}}
                                for kind in ("a", "b")
                            ]
                        },
                    }
                ]
            },
            "pod.extraVolumes projects two files to p",
            "extraVolumes/0/projected/sources/1/secret/items/0/path",
        ),
        (
            "a spread twice",
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": skew,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {},
                    }
                    for skew in (1, 2)
                ]
            },
            "pod.topologySpreadConstraints says DoNotSchedule zone twice",
            "topologySpreadConstraints/1",
        ),
        *(
            (
                f"a mount at {place}",
                {"extraVolumes": [SCRATCH], "extraVolumeMounts": [{**mount, "mountPath": place}]},
                f"mounts scratch at {place}, a place of the chart's own",
                "extraVolumeMounts/0/mountPath",
            )
            for place in ("/tmp", "/data/", "/log", "/dev/shm", "/", "/etc/tf-cluster-source/x")
        ),
        (
            "two mounts",
            {
                "extraVolumes": [SCRATCH],
                "extraVolumeMounts": [mount, {**mount, "mountPath": "/scratch/"}],
            },
            "pod.extraVolumeMounts[1] mounts a second volume at /scratch/",
            "extraVolumeMounts/1/mountPath",
        ),
        (
            "a mount of nothing",
            {"extraVolumeMounts": [mount]},
            "mounts the volume scratch, which no pod of chief has",
            "extraVolumeMounts/0/name",
        ),
        (
            "a mount of what ps lacks",
            {"sidecars": [{**TOOL, "volumeMounts": [{"name": "data", "mountPath": "/d"}]}]},
            "pod.sidecars[0] mounts the volume data, which no pod of ps has",
            "sidecars/0/volumeMounts/0/name",
        ),
        (
            "two claims",
            {"resourceClaims": [claim, claim]},
            "pod.resourceClaims has gpu twice",
            "resourceClaims/1/name",
        ),
        (
            "a claim of nothing",
            {"initContainers": [{**TOOL, "resources": {"claims": [{"name": "gpu"}]}}]},
            "pod.initContainers[0].resources.claims names gpu, which no pod of chief has",
            "initContainers/0/resources/claims/0/name",
        ),
        (
            "two containers",
            {"initContainers": [TOOL], "sidecars": [TOOL]},
            "pod.initContainers[0] is named tool, as another container",
            "initContainers/0/name",
        ),
        (
            "a container named as its role",
            {"sidecars": [{**TOOL, "name": "worker"}]},
            "pod.sidecars[0] is named worker",
            "sidecars/0/name",
        ),
        (
            "two mounts of a container",
            {"sidecars": [{**TOOL, "volumeMounts": [{"name": "tmp", "mountPath": "/a"}] * 2}]},
            "pod.sidecars[0] mounts a second volume at /a",
            "sidecars/0/volumeMounts/1/mountPath",
        ),
        *(
            (
                f"two variables of one of {key}",
                {key: [{**TOOL, "env": [{"name": "A", "value": "1"}, {"name": "A"}]}]},
                f"pod.{key}[0].env has A twice",
                f"{key}/0/env/1/name",
            )
            for key in ("sidecars", "initContainers")
        ),
        *(
            (
                f"two ports: {why}",
                {"sidecars": [{**TOOL, "ports": [{"containerPort": 80, "name": "a"}, port]}]},
                f"pod.sidecars[0].ports has {words}",
                f"sidecars/0/ports/1/{at}",
            )
            for why, port, words, at in (
                (
                    "of one number",
                    {"containerPort": 80, "protocol": "TCP"},
                    "80/TCP twice",
                    "containerPort",
                ),
                (
                    "of one name",
                    {"containerPort": 80, "protocol": "UDP", "name": "a"},
                    "two ports named a",
                    "name",
                ),
            )
        ),
        (
            "two requests of a claim",
            {
                "resourceClaims": [claim],
                "sidecars": [
                    {
                        **TOOL,
                        "resources": {
                            "claims": [{"name": "gpu", "request": name} for name in ("a", "b")]
                        },
                    }
                ],
            },
            "pod.sidecars[0].resources.claims has gpu twice",
            "sidecars/0/resources/claims/1/name",
        ),
        (
            "a key that a spread selects, too",
            {
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                        "matchLabelKeys": ["b", "a"],
                    }
                ]
            },
            "pod.topologySpreadConstraints[0] has a in matchLabelKeys and in labelSelector",
            "topologySpreadConstraints/0/matchLabelKeys/1",
        ),
        (
            "a key that an affinity selects, too",
            {
                "affinity": {
                    "podAffinity": {
                        PREFERRED: [
                            {"weight": 1, "podAffinityTerm": {**NEAR, "matchLabelKeys": ["team"]}}
                        ]
                    }
                }
            },
            f"pod.affinity.podAffinity.{PREFERRED}[0] has team in matchLabelKeys and in label",
            f"affinity/podAffinity/{PREFERRED}/0/podAffinityTerm/matchLabelKeys/0",
        ),
        (
            "a key that must match and must not",
            {
                "affinity": {
                    "podAntiAffinity": {
                        REQUIRED: [{**NEAR, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}]
                    }
                }
            },
            f"pod.affinity.podAntiAffinity.{REQUIRED}[0] has a in matchLabelKeys and in mismatch",
            f"affinity/podAntiAffinity/{REQUIRED}/0/matchLabelKeys/0",
        ),
        (
            "huge pages alone",
            {"sidecars": [{**TOOL, "resources": {"limits": {"hugepages-2Mi": "4Mi"}}}]},
            "pod.sidecars[0].resources asks for huge pages alone",
            "sidecars/0/resources",
        ),
    )
    right = extra(
        {
            "pod": {
                "extraVolumes": [SCRATCH],
                "extraVolumeMounts": [mount],
                "resourceClaims": [claim],
                "topologySpreadConstraints": [
                    {
                        "maxSkew": 1,
                        "topologyKey": "zone",
                        "whenUnsatisfiable": "DoNotSchedule",
                        "labelSelector": {"matchLabels": {"a": "b"}},
                        "matchLabelKeys": ["b"],
                    }
                ],
                "affinity": {
                    "podAffinity": {
                        REQUIRED: [
                            {**NEAR, "matchLabelKeys": ["a"], "mismatchLabelKeys": ["team", "b"]}
                        ]
                    }
                },
                "initContainers": [{**TOOL, "resources": {"claims": [{"name": "gpu"}]}}],
                "sidecars": [
                    {
                        **TOOL,
                        "name": "b",
                        "env": [{"name": "A"}, {"name": "B"}],
                        "ports": [
                            {"containerPort": 80},
                            {"containerPort": 80, "protocol": "UDP", "name": "a"},
                            {"containerPort": 81, "name": "b"},
                        ],
                        "volumeMounts": [{"name": "tmp", "mountPath": "/a"}],
                    }
                ],
            }
        }
    )
    for name, wrong, chart, at in cases:
        tool = f"TFC343 /extraValues/pod/{at}"
        yield f"pod: {name}", Case(extra({"pod": wrong}), chart, tool, right, "pods")
    yield (
        "worker: a device claim of nothing",
        Case(
            extra({"worker": {"resources": {"claims": [{"name": "gpu"}]}}}),
            "worker.resources.claims names gpu, which no pod of worker has",
            "TFC343 /extraValues/worker/resources/claims/0/name",
            extra(
                {"worker": {"resources": {"claims": [{"name": "gpu"}]}, "resourceClaims": [claim]}}
            ),
            "pods",
        ),
    )
    setting = {"name": "net.ipv4.tcp_syncookies", "value": "1"}
    yield (
        "a kernel setting that stands twice",
        Case(
            extra(_sysctls(setting, {**setting, "value": "0"})),
            "security.podSecurityContext.sysctls has net.ipv4.tcp_syncookies twice",
            "TFC343 /extraValues/security/podSecurityContext/sysctls/1/name",
            extra(_sysctls(setting)),
            "sysctls",
        ),
    )
    annotated = {"annotations": {"a": "b"}}
    yield (
        "annotations of an account that is not made",
        Case(
            extra({"serviceAccount": annotated}),
            "serviceAccount.annotations are for an account that the chart makes",
            "TFC345 /extraValues/serviceAccount/annotations",
            extra({"serviceAccount": annotated | {"create": True}}),
            "account",
        ),
    )
    made = {"create": True, "name": "trainer"}
    yield (
        "an account that is there already",
        Case(
            extra({"serviceAccount": made | {"name": "default"}}),
            "The account to make would be called default, as the one that every namespace has",
            "TFC346 /extraValues/serviceAccount/name",
            extra({"serviceAccount": made}),
            "account",
        ),
    )


ROOT = {"runAsUser": 0}
LET_IN = {"runAsUser": 0, "runAsNonRoot": False}


def _security(**of_pod: Any) -> Values:
    return {"security": {"podSecurityContext": of_pod}}


def _contexts(role: str, **of_containers: Any) -> Values:
    return {role: {"containerSecurityContext": of_containers}}


def _beside(role: str, key: str, **context: Any) -> Values:
    return {role: {key: [{**TOOL, "securityContext": context}]}}


def _root_users() -> Named:
    """Wrong, the place that both sides name and the place that it goes against, right."""
    pod = "security.podSecurityContext"
    user, rule = f"{pod}.runAsUser", f"{pod}.runAsNonRoot"
    cases: list[tuple[str, Values, str, str, Values]] = [
        ("all pods", _security(**ROOT), user, rule, _security(**LET_IN)),
    ]
    for role in ("pod", "worker", "notebook"):
        of_role = f"{role}.containerSecurityContext"
        cases += [
            (
                f"{role}: its containers",
                _contexts(role, **ROOT),
                f"{of_role}.runAsUser",
                rule,
                _contexts(role, **LET_IN),
            ),
            (
                f"{role}: a rule of its own",
                _security(**LET_IN) | _contexts(role, runAsNonRoot=True),
                f"{of_role}.runAsNonRoot",
                user,
                _security(**LET_IN) | _contexts(role, runAsNonRoot=True, runAsUser=7),
            ),
        ]
        for key in ("sidecars", "initContainers"):
            at = f"{role}.{key}[0].securityContext"
            wrong, right = _beside(role, key, **ROOT), _beside(role, key, **LET_IN)
            cases.append((f"{role}: one of the {key}", wrong, f"{at}.runAsUser", rule, right))
    both = {"containerSecurityContext": LET_IN, **_beside("worker", "sidecars")["worker"]}
    strict = {**both, **_beside("worker", "sidecars", runAsNonRoot=True)["worker"]}
    safe = {**both, **_beside("worker", "sidecars", runAsNonRoot=True, runAsUser=5)["worker"]}
    of_worker = "worker.containerSecurityContext.runAsUser"
    at = "worker.sidecars[0].securityContext.runAsNonRoot"
    cases.append(("a rule of a sidecar", {"worker": strict}, at, of_worker, {"worker": safe}))
    wrong = _security(runAsUser=0, runAsNonRoot=None) | _contexts("pod", runAsNonRoot=True)
    right = _security(runAsUser=0, runAsNonRoot=None) | _contexts("pod", runAsUser=7)
    at = "pod.containerSecurityContext.runAsNonRoot"
    cases.append(("a rule of containers alone", wrong, at, user, right))
    for name, wrong, place, other, right in cases:
        told = re.sub(r"\[(\d)\]", r"/\1", place.replace(".", "/"))
        zero, true = f"{place} is 0, which is root", f"{place} is true, and {other} is 0"
        yield (
            name,
            Case(
                extra(wrong, **EVALUATED),
                f"{zero}, and {other} is true" if place.endswith("User") else true,
                f"TFC351 /extraValues/{told}",
                extra(right, **EVALUATED),
                "pods",
            ),
        )


def _containers_resources() -> Named:
    right = {
        "requests": {"cpu": "500m", "memory": "1Gi", "rdma/hca": 1},
        "limits": {"cpu": 1, "rdma/hca": 1, "hugepages-2Mi": "4Mi"},
    }
    for why, amounts, words, at in (
        (
            "a request over its limit",
            {"requests": {"cpu": 2}, "limits": {"cpu": "1999m"}},
            "requests.cpu is 2, over the limit of 1999m",
            "requests/cpu",
        ),
        (
            "a device in requests alone",
            {"requests": {"rdma/hca": 1}},
            "requests.rdma/hca has to stand in",
            "requests/rdma~1hca",
        ),
        (
            "a device's request under its limit",
            {"requests": {"rdma/hca": 1}, "limits": {"rdma/hca": 2}},
            "requests.rdma/hca is 1, and the limit 2",
            "requests/rdma~1hca",
        ),
        (
            "half a device",
            {"limits": {"rdma/hca": "500m"}},
            "limits.rdma/hca is 500m: only whole ones",
            "limits/rdma~1hca",
        ),
        (
            "too many devices",
            {"limits": {"rdma/hca": "10P"}},
            "limits.rdma/hca is 10P: Kubernetes counts to",
            "limits/rdma~1hca",
        ),
        (
            "half a huge page",
            {"limits": {"cpu": 1, "hugepages-1Gi": "1536Mi"}},
            "limits.hugepages-1Gi is 1536Mi: only whole pages of 1Gi",
            "limits/hugepages-1Gi",
        ),
        (
            "memory without its unit",
            {"limits": {"memory": 4}},
            "limits.memory is 4, which is less than 1M",
            "limits/memory",
        ),
    ):
        for key in ("sidecars", "initContainers") if "over" in why else ("sidecars",):
            wrong, good = (
                extra({"pod": {key: [{**TOOL, "resources": part}]}}) for part in (amounts, right)
            )
            chart = f"pod.{key}[0].resources.{words}"
            tool = f"TFC335 /extraValues/pod/{key}/0/resources/{at}"
            yield f"{key}: {why}", Case(wrong, chart, tool, good, "pods")


OVER = (
    ("1Gi", "1000Mi"),
    ("1Gi", "1G"),
    ("1Mi", "1M"),
    ("1025Ki", "1Mi"),
    ("1Ti", "1023Gi"),
)
UNDER = (("1G", "1Gi"), ("1000Mi", "1Gi"), ("1M", "1Mi"), ("1Gi", "1Ti"), ("999G", "1T"))
EQUAL = (
    ("1", "1", "cpu"),
    ("1000m", "1", "cpu"),
    ("0.5", "500m", "cpu"),
    ("2Gi", "2Gi", "memory"),
    ("1024Mi", "1Gi", "memory"),
    ("1Gi", "1073741824", "memory"),
    ("1e9", "1G", "memory"),
)


def asked(request: str, limit: str, name: str = "memory") -> Values:
    return {"resources": {"worker": {"requests": {name: request}, "limits": {name: limit}}}}


def _requests() -> Named:
    for over, under in zip(OVER, UNDER, strict=True):
        chart, tool = "over the limit of", "TFC305 /resources/worker/requests/memory"
        why = " over ".join(over)
        yield why, Case(asked(*over), f"{chart} {over[1]}", tool, asked(*under), "resources")


GUARD_CASES: dict[str, Case] = {
    f"{case.guard}: {why}": case
    for part in (
        _nulls,
        _enabled,
        _image,
        _program,
        _interactive,
        _notebook,
        _monitoring,
        _node_ports,
        _scheduling,
        _source,
        _combination,
        _momentum,
        _schedule,
        _success,
        _pre_stop,
        _gpus,
        _name,
        _claims,
        _selector,
        _colocate,
        _variables,
        _labels,
        _requests,
        _parts_of_pods,
        _root_users,
        _containers_resources,
    )
    for why, case in part()
}

TAKEN: dict[str, Values] = {
    **{
        f"{name} of {request} and {limit}": asked(request, limit, name)
        for request, limit, name in EQUAL
    },
    "numbers far beyond what a node has": extra(
        {
            "worker": {"resources": {"limits": {"cpu": 1e300}}},
            "pod": {
                "initContainers": [
                    {
                        "name": "wait",
                        "image": "r.example/wait:1",
                        "resources": {"requests": {"cpu": 1e-300}, "limits": {"cpu": 1.7e308}},
                    }
                ]
            },
        }
    ),
    "a strategy that is the default, in extraValues": extra({"strategy": "parameter-server"}),
    "the port of a page that is switched off": extra(
        {
            page: {"enabled": enabled, "service": {"type": "NodePort", "nodePort": 30606}}
            for page, enabled in (("tensorboard", False), ("notebook", True))
        }
    ),
    "between-graph": {"replication": "between-graph"},
    "between-graph, sync": {"replication": "between-graph", "update": "sync", "ps": 3},
    "seconds of a chief that is not there": extra(
        {"chief": {"terminationGracePeriodSeconds": 300}}, strategy="all-reduce"
    ),
    "all GPUs of a node, all-reduce": extra(
        resources("worker", limits={"nvidia.com/gpu": 8}), strategy="all-reduce"
    ),
}
"""What is near to a refused case, and is none's neighbour."""
