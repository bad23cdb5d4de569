"""From the bytes of a file with TFJobs to a params file and a report."""

from dataclasses import dataclass

from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job
from tf_cluster.convert.manifest import choose, name_of, read_manifests
from tf_cluster.convert.pods import put_pods
from tf_cluster.convert.program import put_program
from tf_cluster.convert.report import Entry, in_order
from tf_cluster.convert.roles import Plan, plan_of
from tf_cluster.convert.run_policy import put_name, put_policy
from tf_cluster.convert.settle import settle
from tf_cluster.convert.text import params_text
from tf_cluster.convert.volumes import put_volumes
from tf_cluster.exits import RefusedError
from tf_cluster.expand.roles import only_choice
from tf_cluster.pointer import dotted


@dataclass(frozen=True)
class Converted:
    """A params file, and what became of each field of the TFJob."""

    name: str
    text: str
    entries: tuple[Entry, ...]


def convert(file: str, raw: bytes, name: str | None = None, image: str | None = None) -> Converted:
    """Convert the TFJob of that name, or the only one. `file` is its name in messages.

    `image` is the trainer's image, if it is known. Raises RefusedError.
    """
    manifests = read_manifests(file, raw)
    job = choose(file, manifests.jobs, name)
    plan = plan_of(job)
    draft = Draft()
    put_name(job, draft)
    _put_way(job, plan, draft)
    put_program(job, plan, draft, image)
    put_volumes(job, plan, draft, manifests.claims)
    put_policy(job, plan, draft)
    put_pods(job, plan, draft)
    settle(job, draft)
    unmap(job, draft)
    if draft.is_out(("image",)):
        raise RefusedError(f"--image {image} is no image: write repository[:tag][@sha256:digest]")
    job.tell_the_rest()
    entries = tuple(in_order(job.entries))
    made_of = f"the TFJob {name_of(job)} in {file}"
    return Converted(name_of(job), params_text(draft.params(), entries, made_of), entries)


def unmap(job: Job, draft: Draft) -> None:
    """Of what was taken out piece by piece nothing is written: it does not map to its key."""
    lost, gone = draft.lost(), {dotted(target) for target in draft.gone()}
    mapped = [entry for entry in job.entries if entry.fate == "maps"]
    for entry in [one for one in mapped if one.field in lost or one.key in gone]:
        job.withdraw(entry.field)
        told = {e.field[: len(entry.field)] for e in job.entries}
        if not {entry.field, entry.field[:-1]} & told:
            job.remark(entry.field, f"left out, and {entry.key} with it", entry.key.split(".")[0])


def _put_way(job: Job, plan: Plan, draft: Draft) -> None:
    """The combination, and how many tasks there are."""
    lead, ps = plan.lead, plan.of("ps")
    draft.put(("strategy",), plan.strategy, lead.path)
    if not only_choice(plan.strategy):
        draft.put(("replication",), plan.replication, lead.path)
    draft.put(("workers",), lead.count, (*lead.path, "replicas"))
    if ps:
        draft.put(("ps",), ps.count, (*ps.path, "replicas"))
    chief = plan.of("chief")
    if chief and chief.count > 1:
        job.remark((*chief.path, "replicas"), "a training has one chief", "replication")
    if chief and chief.kind == "Master":
        why = "TF_CONFIG calls it chief, not master"
        job.remark(chief.path, why, "replication")
