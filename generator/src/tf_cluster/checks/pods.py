"""What users add to pods: names that have to differ, and names that have to be there."""

from collections.abc import Iterable, Iterator, Mapping
from posixpath import normpath
from typing import Any

from tf_cluster.expand.roles import PODS, mounts_claims, pod_section
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

POD_PARTS = Code(
    "TFC343",
    "volumes, containers or claims of a pod that do not go together",
    why="Kubernetes refuses a pod whose parts name each other wrongly, or twice.",
    wrong="extraValues: {worker: {extraVolumeMounts: [{name: cache, mountPath: /cache}]}}",
    right=(
        "extraValues:\n"
        "  worker:\n"
        "    extraVolumes: [{name: cache, emptyDir: {}}]\n"
        "    extraVolumeMounts: [{name: cache, mountPath: /cache}]"
    ),
)

OWN_VOLUMES = ("tmp", "shm", "config", "login", "data", "log")
OWN_PLACES = ("/", "/tmp", "/data", "/log", "/dev/shm", "/etc")
OWN_PREFIX = "/etc/tf-cluster"

Fault = tuple[Pointer, str, str]
"""The place of a fault, what is wrong there, and the fix."""


def check(params: Params) -> Iterator[Finding]:
    """Findings on the pods of each role. What stands in `pod` is said once, of the first role.

    What stands in `security` is for all of them.
    """
    faults: dict[Pointer, tuple[str, str]] = {}
    for role in PODS:
        for path, what, fix in _Pod(params.effective, role).faults():
            faults.setdefault(path, (what, fix))
    security = (params.effective.get("security") or {}).get("podSecurityContext") or {}
    settings = [one["name"] for one in security.get("sysctls") or ()]
    for index, name in _again(settings):
        path = ("security", "podSecurityContext", "sysctls", index, "name")
        faults[path] = (f"is {name} again", "keep one of them")
    for path, (what, fix) in faults.items():
        where: Pointer = ("extraValues", *path)
        yield params.finding(where, POD_PARTS, f"{dotted(path)} {what}", fix=fix)


class _Pod:
    """The values of a role as its pods get them."""

    def __init__(self, values: Mapping[str, Any], role: str) -> None:
        self._values = values
        self._role = role
        self._volumes = [volume["name"] for volume in self._list("extraVolumes")]
        self._mountable = {*self._volumes, *self._own_volumes()}
        self._claims = [claim["name"] for claim in self._list("resourceClaims")]

    def faults(self) -> Iterator[Fault]:
        """What the chart's guards refuse."""
        yield from self._names_of_volumes()
        yield from self._projected_files()
        yield from self._spread()
        yield from self._affinity()
        yield from self._places()
        for index, name in _again(self._claims):
            path = (*self._at("resourceClaims"), index, "name")
            yield path, f"is {name} again", "take another name"
        resources = (self._values.get(self._role) or {}).get("resources")
        yield from self._resources((self._role, "resources"), resources)
        yield from self._containers()

    def _at(self, key: str) -> Pointer:
        return (pod_section(self._values, self._role, key), key)

    def _list(self, key: str) -> list[dict[str, Any]]:
        section, _ = self._at(key)
        return list((self._values.get(str(section)) or {}).get(key) or [])

    def _own_volumes(self) -> Iterator[str]:
        yield "tmp"
        section = self._values.get(pod_section(self._values, self._role, "shmSize")) or {}
        if section.get("shmSize"):
            yield "shm"
        if mounts_claims(self._values, self._role):
            yield from ("data", "log")

    def _names_of_volumes(self) -> Iterator[Fault]:
        at = self._at("extraVolumes")
        seen: set[str] = set()
        for index, name in enumerate(self._volumes):
            if name in OWN_VOLUMES:
                what = f"is {name}, the chart's own name"
                yield (*at, index, "name"), what, "take another name"
            elif name in seen:
                yield (*at, index, "name"), f"is {name} again", "take another name"
            seen.add(name)

    def _projected_files(self) -> Iterator[Fault]:
        at = self._at("extraVolumes")
        for index, volume in enumerate(self._list("extraVolumes")):
            files: set[str] = set()
            for number, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                for kind, given in source.items():
                    for place, item in enumerate(given.get("items") or ()):
                        if item["path"] in files:
                            to = (*at, index, "projected", "sources", number, kind, "items", place)
                            what = f"is {item['path']} again"
                            yield (*to, "path"), what, "give each file a path of its own"
                        files.add(item["path"])

    def _spread(self) -> Iterator[Fault]:
        rules: set[tuple[str, str]] = set()
        for index, one in enumerate(self._list("topologySpreadConstraints")):
            rule = (one["whenUnsatisfiable"], one["topologyKey"])
            if rule in rules:
                path = (*self._at("topologySpreadConstraints"), index)
                yield path, f"says {' '.join(rule)} again", "say it once"
            rules.add(rule)
            yield from _label_keys((*self._at("topologySpreadConstraints"), index), one)

    def _affinity(self) -> Iterator[Fault]:
        at = self._at("affinity")
        affinity = (self._values.get(str(at[0])) or {}).get("affinity") or {}
        for kind in ("podAffinity", "podAntiAffinity"):
            for when, terms in (affinity.get(kind) or {}).items():
                for index, term in enumerate(terms or ()):
                    path: Pointer = (*at, kind, when, index)
                    if "podAffinityTerm" in term:
                        path, term = (*path, "podAffinityTerm"), term["podAffinityTerm"]
                    yield from _label_keys(path, term)

    def _places(self) -> Iterator[Fault]:
        at = self._at("extraVolumeMounts")
        places: set[str] = set()
        for index, mount in enumerate(self._list("extraVolumeMounts")):
            place = normpath(mount["mountPath"]).replace("//", "/")
            path = (*at, index, "mountPath")
            if place in OWN_PLACES or place.startswith(OWN_PREFIX):
                yield path, f"is {place}, a place of the chart's own", "take another place"
            elif place in places:
                yield path, f"is {place} again", "mount it elsewhere"
            places.add(place)
            yield from self._is_there((*at, index), mount["name"])

    def _is_there(self, at: Pointer, volume: str) -> Iterator[Fault]:
        if volume not in self._mountable:
            what = f"is {volume}, a volume that no pod of {self._role} has"
            yield (*at, "name"), what, "add it to extraVolumes"

    def _resources(self, at: Pointer, resources: Any) -> Iterator[Fault]:
        seen: set[str] = set()
        for index, claim in enumerate((resources or {}).get("claims") or []):
            path = (*at, "claims", index)
            if claim["name"] not in self._claims:
                what = f"is {claim['name']}, a claim that no pod of {self._role} has"
                yield (*path, "name"), what, "add it to resourceClaims"
            if claim["name"] in seen:
                yield (*path, "name"), f"is {claim['name']} again", "leave it out"
            seen.add(claim["name"])
        names = {
            name for kind in ("requests", "limits") for name in (resources or {}).get(kind) or {}
        }
        if any(name.startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
            what = "asks for huge pages alone, and Kubernetes gives them beside cpu or memory"
            yield at, what, "ask for cpu or memory, too"

    def _containers(self) -> Iterator[Fault]:
        names = {self._role}
        for key in ("sidecars", "initContainers"):
            for index, container in enumerate(self._list(key)):
                path = (*self._at(key), index)
                if container["name"] in names:
                    what = f"is {container['name']}, as another container of {self._role}"
                    yield (*path, "name"), what, "take another name"
                names.add(container["name"])
                mounts = container.get("volumeMounts") or []
                places: set[str] = set()
                for inner, mount in enumerate(mounts):
                    at = (*path, "volumeMounts", inner)
                    yield from self._is_there(at, mount["name"])
                    if mount["mountPath"] in places:
                        what = f"is {mount['mountPath']} again"
                        yield (*at, "mountPath"), what, "mount it elsewhere"
                    places.add(mount["mountPath"])
                variables = [variable["name"] for variable in container.get("env") or []]
                for inner, name in _again(variables):
                    yield (*path, "env", inner, "name"), f"is {name} again", "keep one of them"
                yield from _ports((*path, "ports"), container.get("ports") or [])
                yield from self._resources((*path, "resources"), container.get("resources"))


def _ports(at: Pointer, ports: list[dict[str, Any]]) -> Iterator[Fault]:
    numbers: set[str] = set()
    names: set[str] = set()
    for index, port in enumerate(ports):
        number = f"{int(port['containerPort'])}/{port.get('protocol') or 'TCP'}"
        name = port.get("name") or ""
        if number in numbers:
            yield (*at, index, "containerPort"), f"is {number} again", "leave it out"
        if name and name in names:
            yield (*at, index, "name"), f"is {name} again", "take another name"
        numbers.add(number)
        names.add(name)


def _label_keys(at: Pointer, rule: dict[str, Any]) -> Iterator[Fault]:
    """Keys whose value is the pod's own, and that are selected in another way, too."""
    selector = rule.get("labelSelector") or {}
    selected = {*(selector.get("matchLabels") or {})}
    selected |= {one["key"] for one in selector.get("matchExpressions") or ()}
    mismatched = {*(rule.get("mismatchLabelKeys") or ())}
    for index, key in enumerate(rule.get("matchLabelKeys") or ()):
        for place, keys in (("labelSelector", selected), ("mismatchLabelKeys", mismatched)):
            if key in keys:
                what = f"is {key}, which {place} has, too"
                yield (*at, "matchLabelKeys", index), what, "keep one of them"
                break


def _again(names: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Those of the names that stand there before, with their indexes."""
    seen: set[str] = set()
    for index, name in enumerate(names):
        if name in seen:
            yield index, name
        seen.add(name)
