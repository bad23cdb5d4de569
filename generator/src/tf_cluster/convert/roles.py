"""Which way of training a TFJob is, and which of its replicas become which role."""

from dataclasses import dataclass

from tf_cluster.convert.job import Job, shown
from tf_cluster.exits import RefusedError
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

_TYPES = {"chief": "Chief", "master": "Master", "worker": "Worker", "ps": "PS"}
_EVALUATOR = ("evaluator", "eval")


@dataclass(frozen=True)
class Role:
    """Pods of one type. `target` is the role that they become; `path` is the replica spec."""

    target: str
    kind: str
    path: Pointer
    count: int

    @property
    def pod(self) -> Pointer:
        """The pod's template."""
        return (*self.path, "template")

    @property
    def spec(self) -> Pointer:
        """The pod's spec."""
        return (*self.path, "template", "spec")


@dataclass(frozen=True)
class Plan:
    """How it trains.

    `joined` is a chief that trains beside workers without a role of its own: it becomes worker 0.
    `lead` is the role whose command the params file runs.
    """

    strategy: str
    replication: str
    roles: tuple[Role, ...]
    joined: Role | None = None

    @property
    def lead(self) -> Role:
        """Whose command is the program's."""
        return next(role for role in self.roles if role.target == "worker")

    def of(self, target: str) -> Role | None:
        """The role of that name, if there is one."""
        return next((role for role in self.roles if role.target == target), None)


def plan_of(job: Job) -> Plan:
    """Read the replicas. Raises RefusedError where nothing trains or a number is none."""
    found = _replicas(job)
    chief = found.get("Chief") or found.get("Master")
    worker, ps = found.get("Worker"), found.get("PS")
    if chief and found.get("Chief") and found.get("Master"):
        job.to_do(found["Master"].path, "there is a Chief, too: a training has one", "workers")
    if not chief and not worker:
        raise RefusedError(
            f"{job.document.file}:{job.line(('spec',))}: this TFJob has no Worker, Chief or Master "
            "that trains"
        )
    if chief and worker and ps:
        all_three = (
            Role("chief", chief.kind, chief.path, chief.count),
            Role("worker", worker.kind, worker.path, worker.count),
            Role("ps", ps.kind, ps.path, ps.count),
        )
        return Plan("parameter-server", "in-graph", all_three)
    lead = worker or chief
    assert lead
    joined = chief if worker else None
    count = lead.count + (joined.count if joined else 0)
    roles = (Role("worker", lead.kind, lead.path, count),)
    if ps:
        return Plan(
            "parameter-server",
            "between-graph",
            (*roles, Role("ps", ps.kind, ps.path, ps.count)),
            joined,
        )
    return Plan("all-reduce", "between-graph", roles, joined)


def _replicas(job: Job) -> dict[str, Role]:
    """The replicas by type, as the operator reads it: in any capitals."""
    found: dict[str, Role] = {}
    for kind, path in _specs(job):
        lower = kind.lower()
        if lower in _EVALUATOR:
            job.to_do(
                path,
                "there is no evaluator of scripts: of a program class, `evaluator: true` makes one",
                "program",
            )
            continue
        name = _TYPES.get(lower)
        if not name or name in found:
            what = "a second time" if name else "no type of a TFJob"
            job.to_do(path, f"{cut(kind)}: {what}", "workers")
            continue
        count = _count(job, path)
        if count:
            found[name] = Role(lower, name, path, count)
        else:
            job.leave_out(path, "0 replicas: it has no pods")
    return found


def _specs(job: Job) -> list[tuple[str, Pointer]]:
    """The replica specs: by type, or in the first versions a list."""
    at: Pointer = ("spec", "tfReplicaSpecs")
    by_type = job.get(at)
    specs = [(key, (*at, key)) for key in by_type] if isinstance(by_type, dict) else []
    for path in job.items(("spec", "replicaSpecs")):
        kind = (*path, "tfReplicaType")
        job.cover(kind)
        specs.append((job.text(kind) or "MASTER", path))
    return specs


def _count(job: Job, path: Pointer) -> int:
    where = (*path, "replicas")
    count = job.get(where)
    if count is None:
        return 1
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise RefusedError(
            f"{job.document.file}:{job.line(where)}: {dotted(where)} is {cut(shown(count))}, not a "
            "number of pods"
        )
    return count
