"""What the chart passes on to Kubernetes has the types of the oldest and the newest Kubernetes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
import yaml

from tests.chart.helm import CHART, LEAST, ROOT, RefusedError, merged, template
from tools.chart import kubernetes_types
from tools.machine import tools as machine_tools

Schema = Mapping[str, Any]

SCHEMA = json.loads((CHART / "values.schema.json").read_text())
EXCERPTS = {
    name: json.loads((kubernetes_types.EXCERPTS / f"{name}.json").read_text())
    for name in kubernetes_types.VERSIONS
}
OLD, NEW = (EXCERPTS[name]["types"] for name in ("lowest", "highest"))

# Fields of both versions that the chart has not, and why.
LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "the images are Linux's": (
        "SecurityContext.windowsOptions",
        "PodSecurityContext.windowsOptions",
    ),
    "rights over a node, which no training needs: a device comes by a plugin": (
        "SecurityContext.privileged",
        "SecurityContext.procMount",
        "ContainerPort.hostIP",
        "ContainerPort.hostPort",
    ),
    "a probe of another host says nothing of its container, and Pod Security refuses it": (
        "HTTPGetAction.host",
        "TCPSocketAction.host",
    ),
    "a lifecycle hook of TCP is deprecated, and never runs": ("LifecycleHandler.tcpSocket",),
    "nobody is at the terminal of a container beside a task": tuple(
        f"Container.{field}" for field in ("stdin", "stdinOnce", "tty")
    ),
    "the kubelet's own file is where everybody looks": ("Container.terminationMessagePath",),
    "a claim's volume has a file system here": (
        "Container.volumeDevices",
        "PersistentVolumeClaimSpec.volumeMode",
    ),
    "a pod of an attempt is never resized in place": ("Container.resizePolicy",),
    "Kubernetes forbids them to init containers that end": tuple(
        f"initContainers: Container.{field}"
        for field in (
            "lifecycle",
            "livenessProbe",
            "readinessProbe",
            "startupProbe",
            "restartPolicy",
        )
    ),
    "nobody connects to a container that ends before the others begin": (
        "initContainers: Container.ports",
    ),
    "one claim per pod, made of a class: what it asks for and no more": (
        "PersistentVolumeClaimSpec.volumeName",
        "PersistentVolumeClaimSpec.dataSourceRef",
        "VolumeResourceRequirements.limits",
        "ResourceRequirements.limits",
    ),
    "the API server's own, or of an object that has a name": tuple(
        f"ObjectMeta.{field}"
        for field in (
            *("creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp"),
            *("finalizers", "generateName", "generation", "managedFields", "name", "namespace"),
            *("ownerReferences", "resourceVersion", "selfLink", "uid"),
        )
    ),
    "plugins of one storage each, gone or going: a CSI driver or a claim takes their place": tuple(
        f"Volume.{field}"
        for field in (
            *("awsElasticBlockStore", "azureDisk", "azureFile", "cephfs", "cinder", "fc"),
            *("flexVolume", "flocker", "gcePersistentDisk", "gitRepo", "glusterfs", "iscsi"),
            *("photonPersistentDisk", "portworxVolume", "quobyte", "rbd", "scaleIO", "storageos"),
            "vsphereVolume",
        )
    ),
}

# Fields that the older version has not, and the first that has. A guard asks the cluster.
SINCE = {
    "PodAffinityTerm.matchLabelKeys": "1.29",
    "PodAffinityTerm.mismatchLabelKeys": "1.29",
    "SecurityContext.appArmorProfile": "1.30",
    "PodSecurityContext.appArmorProfile": "1.30",
    "PodSecurityContext.supplementalGroupsPolicy": "1.31",
    "ResourceClaim.request": "1.31",
    "PodResourceClaim.resourceClaimName": "1.31",
    "PodResourceClaim.resourceClaimTemplateName": "1.31",
}

# Words of both versions that the chart does not take, and why.
NO_WORD = {
    "mountPropagation": {"Bidirectional"},  # for privileged containers
    "matchFields[].operator": {"Exists", "DoesNotExist", "Gt", "Lt"},  # of a node's name
}
# Needed by Kubernetes, and given by the chart where a user leaves it out.
GIVEN = {"TypedLocalObjectReference.kind", "TypedLocalObjectReference.name"}


@dataclass(frozen=True)
class Met:
    """A part of the schema, and the word that each version has for its type."""

    place: str
    field: str
    schema: Schema
    old: str
    new: str


def resolved(schema: Schema) -> dict[str, Any]:
    """Without $ref, and with what one that stands in allOf says."""
    found = dict(schema)
    while "$ref" in found:
        part: Any = SCHEMA
        for key in found.pop("$ref").removeprefix("#/").split("/"):
            part = part[key]
        found = {**part, **found}
    for part in found.get("allOf", []):
        if "$ref" in part:
            found = laid_over(resolved(part), found)
    return found


def laid_over(under: Schema, over: Schema) -> dict[str, Any]:
    """What both say, at every depth."""
    found = dict(under)
    for key, part in over.items():
        if key == "required":
            part = [*under.get(key, []), *part]
        elif isinstance(part, dict) and isinstance(under.get(key), dict):
            part = laid_over(under[key], part)
        found[key] = part
    return found


def meet(place: str, field: str, schema: Schema, old: str, new: str) -> Iterator[Met]:
    """This part, and all parts below it. A word is empty where a version has no such field."""
    schema = resolved(schema)
    yield Met(place, field, schema, old, new)
    if (old or new).startswith("[]"):
        inner = schema.get("items", {})
        yield from meet(f"{place}[]", field, inner, old.removeprefix("[]"), new.removeprefix("[]"))
        return
    if (old or new) in {**OLD, **NEW}:
        name = (new or old).rpartition(".")[2]
        for key, part in schema.get("properties", {}).items():
            words = (of(OLD, old, key), of(NEW, new, key))
            yield from meet(f"{place}.{key}", f"{name}.{key}", part, *words)


def of(types: Mapping[str, Mapping[str, str]], name: str, field: str) -> str:
    """The word of a field's type; nothing where there is none."""
    fields = types.get(name, {})
    return fields.get(field) or fields.get(f"{field}*") or ""


MET = [
    part
    for definition, root in kubernetes_types.ROOTS.items()
    for part in meet(definition, "", SCHEMA["definitions"][definition], root, root)
]
OBJECTS = [part for part in MET if part.new in NEW and part.old in OLD]
LEAVES = [part for part in MET if part.new not in NEW]


def names(types: Mapping[str, Mapping[str, str]], name: str) -> set[str]:
    return {field.rstrip("*") for field in types[name]}


def known(part: Met, field: str) -> bool:
    """Whether a field is left out on purpose."""
    name = f"{part.new.rpartition('.')[2]}.{field}"
    told = {word for words in LEFT_OUT.values() for word in words}
    return name in told or f"{part.place.split('[')[0]}: {name}" in told


def test_the_excerpts_are_of_the_versions_that_the_chart_and_its_tests_name() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    lowest, highest = (EXCERPTS[name]["module"].split("v")[-1] for name in ("lowest", "highest"))
    assert chart["kubeVersion"] == f">={'.'.join(lowest.split('.')[:2])}.0-0"
    assert highest == machine_tools.KUBERNETES_VERSION
    for name, wrapper in kubernetes_types.VERSIONS.items():
        module = (ROOT / "tools" / "machine" / "go" / wrapper / "go.mod").read_text()
        assert EXCERPTS[name]["module"] in module


@pytest.mark.full
def test_the_excerpts_are_what_the_modules_say() -> None:
    for name, wrapper in kubernetes_types.VERSIONS.items():
        folder = machine_tools.source(wrapper, kubernetes_types.MODULE)
        found = kubernetes_types.excerpt(kubernetes_types.Source(folder))
        assert (
            kubernetes_types.as_text(found)
            == (kubernetes_types.EXCERPTS / f"{name}.json").read_text()
        )


def test_every_field_of_both_versions_is_there_or_left_out_with_a_reason() -> None:
    missing = [
        f"{part.place}.{field}"
        for part in OBJECTS
        for field in sorted(names(OLD, part.old) & names(NEW, part.new))
        if field not in part.schema.get("properties", {}) and not known(part, field)
    ]
    assert missing == []


def test_what_is_left_out_is_a_field_and_is_not_there() -> None:
    for word in (word for words in LEFT_OUT.values() for word in words):
        root, _, name = word.rpartition(": ")
        kind, field = name.split(".")
        parts = [
            part
            for part in OBJECTS
            if part.new.endswith(f".{kind}") or part.old.endswith(f".{kind}")
            if part.place.startswith(root)
        ]
        assert parts, word
        assert any(field not in part.schema.get("properties", {}) for part in parts), word


def test_every_object_is_closed_and_has_no_field_that_kubernetes_has_not() -> None:
    for part in OBJECTS:
        if "properties" in part.schema:
            assert part.schema["additionalProperties"] is False, part.place
    for part in MET:
        assert part.old or part.new, part.place


def test_a_field_that_only_the_newest_has_is_one_that_a_guard_asks_the_cluster_about() -> None:
    newer = {part.field for part in MET if not part.old and part.new}
    # What is below such a field is new with it.
    newer -= {field for field in newer if field.startswith("AppArmorProfile.")}
    assert newer == SINCE.keys()
    for field, version in SINCE.items():
        key = "resourceClaims" if field.startswith("PodResourceClaim.") else field.split(".")[1]
        assert version in {since for place, since in PLACES.items() if place.endswith(key)}, field


def test_no_field_is_one_that_the_newest_has_lost() -> None:
    assert [part.place for part in MET if part.old and not part.new] == []


def test_every_type_is_that_of_both_versions() -> None:
    for part in LEAVES:
        assert part.old.split(":")[0] == part.new.split(":")[0] or part.old == "", part.place
        assert fits(part), f"{part.place}: {part.new} and {dict(part.schema)}"


def fits(part: Met) -> bool:
    """Whether all that the schema takes there is of the type."""
    word = part.new.split(":")[0]
    kinds = part.schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    if not kinds and "enum" in part.schema:
        kinds = {"string"}
    if word.startswith(("[]", "{}")):
        return kinds == {"array" if word[0] == "[" else "object"}
    if word in ("int32", "int64"):
        most = 2**31 - 1 if word == "int32" else 2**53
        return kinds == {"integer"} and part.schema["maximum"] <= most and "minimum" in part.schema
    if word == "int-or-string" or word.endswith("IntOrString"):
        return kinds == {"integer"}
    if word.endswith("Quantity"):
        return "string" in kinds and kinds <= {"string", "number"}
    return kinds == {word}


def test_every_word_that_can_be_chosen_is_one_of_both_versions() -> None:
    seen = set()
    for part in LEAVES:
        old, new = (set(word.partition(": ")[2].split("|")) - {""} for word in (part.old, part.new))
        if not new:
            continue
        seen.add(part.field)
        refused = [words for end, words in NO_WORD.items() if part.place.endswith(end)]
        wanted = ((old or new) & new).difference(*refused)
        assert set(part.schema.get("enum", ())) - {""} == wanted, part.place
    assert len(seen) > 15


def test_what_kubernetes_needs_the_schema_needs() -> None:
    for part in OBJECTS:
        needed = {field.rstrip("*") for field in OLD[part.old] if field.endswith("*")}
        needed &= {field.rstrip("*") for field in NEW[part.new] if field.endswith("*")}
        needed &= part.schema.get("properties", {}).keys()
        name = part.new.rpartition(".")[2]
        missing = {
            field
            for field in needed - set(part.schema.get("required", ()))
            if f"{name}.{field}" not in GIVEN
        }
        assert not missing, f"{part.place}: {missing}"


PROFILE = {"type": "RuntimeDefault"}
CLAIMS = {"claims": [{"name": "gpu", "request": "one"}]}
NEWER: dict[str, Any] = {
    "security": {
        "podSecurityContext": {"supplementalGroupsPolicy": "Strict", "appArmorProfile": PROFILE}
    },
    "worker": {"resources": CLAIMS},
    "pod": {
        "containerSecurityContext": {"appArmorProfile": PROFILE},
        "resourceClaims": [{"name": "gpu", "resourceClaimName": "gpus"}],
        "initContainers": [
            {
                "name": "fetch",
                "image": "r.example/fetch:1",
                "resources": CLAIMS,
                "securityContext": {"appArmorProfile": PROFILE},
            }
        ],
        "affinity": {
            "podAntiAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "topologyKey": "zone",
                        "labelSelector": {},
                        "matchLabelKeys": ["a"],
                        "mismatchLabelKeys": ["b"],
                    }
                ]
            }
        },
    },
}
TERM = "pod.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]"
PLACES = {
    f"{TERM}.matchLabelKeys": "1.29",
    f"{TERM}.mismatchLabelKeys": "1.29",
    "pod.containerSecurityContext.appArmorProfile": "1.30",
    "pod.initContainers[0].securityContext.appArmorProfile": "1.30",
    "security.podSecurityContext.appArmorProfile": "1.30",
    "security.podSecurityContext.supplementalGroupsPolicy": "1.31",
    "pod.resourceClaims": "1.31",
    "pod.initContainers[0].resources.claims[0].request": "1.31",
    "worker.resources.claims[0].request": "1.31",
}


@pytest.mark.parametrize("kubernetes", ["1.28.0", "1.30.2-gke.1"])
def test_a_cluster_that_lacks_a_field_is_named_before_anything_is_made(kubernetes: str) -> None:
    with pytest.raises(RefusedError) as refused:
        newer(kubernetes)
    told = dict(re.findall(r"(\S+) needs Kubernetes (\S+); this is", str(refused.value)))
    version = kubernetes.rpartition(".")[0] if kubernetes.count(".") == 2 else "1.30"
    assert told == {place: since for place, since in PLACES.items() if since > version}


def test_a_cluster_that_has_all_fields_gets_them() -> None:
    newer("1.31.0")


def newer(kubernetes: str) -> None:
    values = json.dumps(merged(LEAST, NEWER))
    template(values, "digits", "training", str(CHART), kubernetes=kubernetes)
