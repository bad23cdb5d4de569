"""Volumes and their mounts: claims at /data and /log have keys, the others go on as they are."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.checks.pods import OWN_PLACES, OWN_PREFIX, OWN_VOLUMES
from tf_cluster.convert.command import command_of, written_path
from tf_cluster.convert.container import container_of, others_of
from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job
from tf_cluster.convert.roles import Plan, Role
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

_MOUNT_KEYS = ("name", "mountPath", "readOnly", "subPath")
_PLACES = {"/data": "data", "/log": "log"}
_LOGS = re.compile(r"log|model|output|checkpoint|ckpt|export|event|summar|result", re.IGNORECASE)
_UNREAD = "the ps run TensorFlow's server, which reads no files"
_MODES = {
    "data": ("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
    "log": ("ReadWriteOnce", "ReadWriteMany"),
}


@dataclass
class _Shared:
    """What all roles have in common: the claim and directory of /data and of /log."""

    claims: Mapping[str, list[str]]
    chosen: dict[str, tuple[Any, ...]] = field(default_factory=dict)


def put_volumes(job: Job, plan: Plan, draft: Draft, claims: Mapping[str, list[str]]) -> None:
    """All volumes. `claims` are the access modes of claims that the file describes."""
    shared = _Shared(claims)
    for role in _lead_first(plan):
        _Pod(job, role, draft, shared).put()
    lead = plan.lead
    if "log" not in shared.chosen:
        _guess_log(job, lead, draft, shared)
    if "log" not in shared.chosen:
        why = (
            "no claim is mounted at /log, so the chart makes one of 5Gi, ReadWriteOnce, which "
            "keeps all pods on one node: name one by log.claim, or its size"
        )
        job.remark((*container_of(job, lead), "volumeMounts"), why, "log")
    if "data" not in shared.chosen:
        draft.put(("data", "enabled"), False, lead.spec)
    for volume in ("data", "log"):
        _put_modes(job, volume, draft, shared)


def _lead_first(plan: Plan) -> list[Role]:
    return sorted(plan.roles, key=lambda role: role is not plan.lead)


def _put_modes(job: Job, volume: str, draft: Draft, shared: _Shared) -> None:
    claim = draft.get((volume, "claim"))
    if not claim:
        return
    source = draft.origins[volume, "claim"]
    modes = [mode for mode in shared.claims.get(claim, ()) if mode in _MODES[volume]]
    if modes:
        draft.put((volume, "accessModes"), modes, source)
        return
    why = (
        f"say by {volume}.accessModes what the claim {claim} has (kubectl get pvc {claim}): "
        "without it, it is taken for ReadWriteOnce, and all pods stay on one node"
    )
    job.remark(source, why, volume)


def _guess_log(job: Job, role: Role, draft: Draft, shared: _Shared) -> None:
    """The only claim that looks as if the training wrote into it is /log's, too."""
    container = container_of(job, role)
    volumes = {job.text((*path, "name")): path for path in job.items((*role.spec, "volumes"))}
    arguments = [word.text for word in command_of(job, container).args]
    written = [path for path in map(written_path, arguments) if path]
    found = {}
    for mount in job.items((*container, "volumeMounts")):
        place = job.text((*mount, "mountPath"))
        volume = volumes.get(job.text((*mount, "name")))
        claim = volume and job.text((*volume, "persistentVolumeClaim", "claimName"))
        is_written = any(one == place or one.startswith(f"{place}/") for one in written)
        looks_so = is_written or _LOGS.search(place)
        if (
            volume
            and claim
            and looks_so
            and place not in _PLACES
            and not _reads(job, mount, volume)
        ):
            found[claim] = (mount, volume)
    if len(found) == 1:
        [(claim, (mount, volume))] = found.items()
        draft.put(("log", "claim"), claim, (*volume, "persistentVolumeClaim", "claimName"))
        shared.chosen["log"] = (claim, None)
        why = (
            f"it is mounted at {cut(job.text((*mount, 'mountPath')))} as before, and at /log, "
            "where the run's own directory is; take another claim if it is not for results"
        )
        job.remark((*volume, "persistentVolumeClaim", "claimName"), why, "log")


def _reads(job: Job, mount: Pointer, volume: Pointer) -> bool:
    claim = (*volume, "persistentVolumeClaim")
    return job.get((*mount, "readOnly")) is True or job.get((*claim, "readOnly")) is True


class _Pod:
    """The volumes of one role's pods."""

    def __init__(self, job: Job, role: Role, draft: Draft, shared: _Shared) -> None:
        self.job = job
        self.role = role
        self.draft = draft
        self.shared = shared
        self.container = container_of(job, role)
        self.volumes = {
            job.text((*path, "name")): path
            for path in job.items((*role.spec, "volumes"))
            if job.text((*path, "name"))
        }
        self.used: set[str] = set()
        self.settled: set[str] = set()
        self.unread: set[str] = set()
        self.shared_here: set[str] = set()
        """Volumes that are mounted in another place of the pod, too."""

    def put(self) -> None:
        """The mounts of the container, then the volumes that somebody mounts."""
        inits = self.job.items((*self.role.spec, "initContainers"))
        for other in (*others_of(self.job, self.role), *inits):
            for mount in self.job.items((*other, "volumeMounts")):
                self.shared_here.add(self.job.text((*mount, "name")))
        self.used |= self.shared_here
        own = [
            self.job.text((*m, "name")) for m in self.job.items((*self.container, "volumeMounts"))
        ]
        self.shared_here |= {name for name in own if own.count(name) > 1}
        for mount in self.job.items((*self.container, "volumeMounts")):
            self._mount(mount)
        for name, path in self.volumes.items():
            if name in self.used:
                self._keep(name, path)
            elif name not in self.settled and not self.job.is_told(path):
                why = _UNREAD if name in self.unread else "no container mounts it"
                self.job.leave_out(path, why)

    def _mount(self, mount: Pointer) -> None:
        job = self.job
        name = job.text((*mount, "name"))
        place = posixpath.normpath(job.text((*mount, "mountPath")) or "/").replace("//", "/")
        path = self.volumes.get(name)
        if path is None:
            job.to_do(mount, f"{cut(place)}: there is no volume {cut(name)}", "extraValues")
        elif name in self.shared_here and self._is_empty(path) and place in OWN_PLACES:
            why = f"{place} is the task's own here: share a directory at another place"
            job.to_do(mount, why, "extraValues")
        elif place == "/tmp" and self._is_empty(path):
            self._temporary(mount, path, "tmpSize", "every task has a /tmp")
        elif place == "/dev/shm" and self._is_empty(path):
            self._temporary(mount, path, "shmSize", "say its size by shmSize: else it has 64 MiB")
        elif place in _PLACES:
            self._claim(mount, path, _PLACES[place], name)
        elif place in OWN_PLACES or place.startswith(OWN_PREFIX):
            job.to_do(mount, f"{place} is the chart's own: mount it elsewhere", "extraValues")
            if not job.is_told(path):
                job.to_do(path, f"a volume for {place}, which is the chart's own", "extraValues")
        else:
            self._go_on(mount, name)

    def _go_on(self, mount: Pointer, name: str) -> None:
        """A mount that stays as it is."""
        self.used.add(name)
        data = self.job.get(mount)
        kept = {key: data[key] for key in _MOUNT_KEYS if data.get(key) not in (None, "", False)}
        key = ("extraValues", self.role.target, "extraVolumeMounts")
        self.draft.append(key, {**kept, "name": renamed(name)}, mount)
        for one in _MOUNT_KEYS:
            self.job.cover((*mount, one))
        self.job.maps((*mount, "mountPath"), dotted(key))

    def _keep(self, name: str, path: Pointer) -> None:
        """A volume that stays as it is."""
        key = ("extraValues", self.role.target, "extraVolumes")
        data = self.job.get(path)
        kept = {one: value for one, value in data.items() if value is not None}
        self.draft.append(key, {**kept, "name": renamed(name)}, path)
        words = f"as {renamed(name)}" if renamed(name) != name else ""
        if not self.job.is_told(path):
            self.job.maps(path, dotted(key), words)

    def _claim(self, mount: Pointer, path: Pointer, volume: str, name: str) -> None:
        """What is mounted at /data or /log: a claim, or an empty directory."""
        job, where = self.job, (*path, "persistentVolumeClaim")
        if self.role.target == "ps" and self.draft.get(("program", "ps")) != "script":
            job.leave_out(mount, _UNREAD)
            self.unread.add(name)
            return
        claim = job.text((*where, "claimName"))
        directory = job.get((*mount, "subPath")) or None
        is_empty = volume == "data" and self._is_empty(path)
        wanted: tuple[Any, ...] = ("", None) if is_empty else (claim, directory)
        if claim or is_empty:
            self.shared.chosen.setdefault(volume, wanted)
        first = self.shared.chosen.get(volume)
        if is_empty and first == wanted:
            self.draft.put(("data", "enabled"), False, path)
            job.maps(mount, "data.enabled: false")
            self._empty_data(path, name)
            return
        if first != wanted or not claim:
            others = f", and other tasks have the claim {first[0]} there" if first else ""
            why = (
                f"{self._kind(path)} at /{volume}"
                + (others if first and first[0] else "")
                + ": all tasks have one claim there"
            )
            job.to_do(mount, why, volume)
            if not job.is_told(path):
                job.to_do(path, why, volume)
            return
        if self.draft.get((volume, "claim")) is None:
            self.draft.put((volume, "claim"), claim, (*where, "claimName"))
            if directory:
                self.draft.put((volume, "subPath"), directory, (*mount, "subPath"))
        for one in ("name", "mountPath", "subPath"):
            job.cover((*mount, one))
        job.maps((*mount, "mountPath"), f"{volume}.claim")
        for at in ((*mount, "readOnly"), (*where, "readOnly")):
            if job.get(at) is True:
                why = f"tasks can write to /{volume}: no key mounts it read-only"
                job.to_do(at, why, volume)
            job.cover(at)
        job.cover((*path, "name"))
        self.settled.add(name)
        if not job.is_told((*where, "claimName")):
            job.maps((*where, "claimName"), f"{volume}.claim")

    def _empty_data(self, path: Pointer, name: str) -> None:
        """An empty directory of each pod's own, on the node's disk and without a limit."""
        self.settled.add(name)
        self.job.cover((*path, "name"))
        for key in self.job.keys((*path, "emptyDir")):
            where = (*path, "emptyDir", key)
            shown = cut(str(self.job.get(where)))
            self.job.to_do(where, f"{shown}: /data is on the node's disk, without a limit", "data")

    def _temporary(self, mount: Pointer, path: Pointer, key: str, why: str) -> None:
        """An empty directory where the chart has one: only its size is to be said."""
        job, where = self.job, (*path, "emptyDir")
        size = job.get((*where, "sizeLimit"))
        in_memory = job.text((*where, "medium")) == "Memory"
        target = ("extraValues", self.role.target, key)
        if size is not None:
            self.draft.put(target, str(size), (*where, "sizeLimit"))
            job.maps((*where, "sizeLimit"), dotted(target))
            job.cover((*where, "sizeLimit"))
        job.cover((*path, "name"))
        if in_memory == (key == "shmSize"):
            job.cover((*where, "medium"))
        elif in_memory:
            job.to_do((*where, "medium"), "/tmp is on the node's disk", "extraValues")
        else:
            job.leave_out(where, "/dev/shm is always in memory here")
        if size is None and key == "shmSize":
            job.to_do(mount, why, "extraValues")
        else:
            job.leave_out(mount, why if key == "tmpSize" else f"{key} is said")
        if size is None:
            job.cover(where)
        self.settled.add(self.job.text((*path, "name")))

    def _is_empty(self, path: Pointer) -> bool:
        keys = [key for key in (self.job.get(path) or {}) if key != "name"]
        return keys in ([], ["emptyDir"])

    def _kind(self, path: Pointer) -> str:
        keys = [key for key in (self.job.get(path) or {}) if key != "name"]
        return cut(", ".join(keys)) or "emptyDir"


def renamed(name: str) -> str:
    """A volume's name where the chart has none of its own of that name."""
    return f"tfjob-{name}" if name in OWN_VOLUMES else name
