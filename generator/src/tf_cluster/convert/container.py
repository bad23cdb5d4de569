"""The container of a pod that trains, and the ones beside it."""

from tf_cluster.convert.job import Job
from tf_cluster.convert.roles import Role
from tf_cluster.pointer import Pointer

NAME = "tensorflow"
"""What the operator looks for."""


def container_of(job: Job, role: Role) -> Pointer:
    """The container that trains: the one of that name, else the first."""
    paths = job.items((*role.spec, "containers"))
    named = (path for path in paths if job.text((*path, "name")) == NAME)
    return next(named, paths[0] if paths else (*role.spec, "containers", 0))


def others_of(job: Job, role: Role) -> list[Pointer]:
    """The containers beside it."""
    own = container_of(job, role)
    return [path for path in job.items((*role.spec, "containers")) if path != own]
