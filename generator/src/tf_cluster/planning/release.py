"""A release of the chart: its values, and what follows from them for every template."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from tf_cluster.expand.gang import Gang, gang
from tf_cluster.expand.placement import on_one_node
from tf_cluster.expand.roles import Combination, combination, ps_run_script
from tf_cluster.planning.roles import POD_ROLES, PodRole


@dataclass(frozen=True)
class Release:
    """Effective values, and where they are installed.

    The values are whole: the chart's own with the user's laid over them, and a combination that
    there is.
    """

    values: Mapping[str, Any]
    name: str
    namespace: str

    @cached_property
    def fullname(self) -> str:
        """What every object's name starts with; also the name of the run's directory."""
        return fullname(self.values, self.name)

    @cached_property
    def identity(self) -> dict[str, str]:
        """The labels that say whose an object is."""
        return {
            "app.kubernetes.io/name": self.values.get("nameOverride") or "tf-cluster",
            "app.kubernetes.io/instance": self.name,
        }

    @cached_property
    def combination(self) -> Combination:
        """The row of strategy, replication and update. LookupError where there is none."""
        wanted = [self.values.get(key) for key in ("strategy", "replication", "update")]
        row = combination(*wanted)
        if row is None:
            raise LookupError(wanted)
        return row

    @property
    def interactive(self) -> bool:
        """Whether the tasks serve a client, and no program runs."""
        return bool(self.section("interactive").get("enabled"))

    @property
    def client(self) -> str:
        """The type of the task that drives the run: chief, or worker."""
        return "chief" if self.combination.has_chief and not self.interactive else "worker"

    @property
    def ps_count(self) -> int:
        """How many parameter servers there are."""
        return int(self.values["ps"]["replicas"]) if self.combination.has_ps else 0

    @property
    def workers(self) -> int:
        """How many workers there are."""
        return int(self.values["worker"]["replicas"])

    @property
    def ps_run_script(self) -> bool:
        """Whether the parameter servers run the user's script."""
        return ps_run_script(self.values)

    @property
    def gang(self) -> Gang | None:
        """Who starts the tasks together; None where nobody does."""
        return gang(self.values)

    @property
    def has_evaluator(self) -> bool:
        """Whether a task measures checkpoints."""
        return bool(self.section("evaluator").get("enabled"))

    @property
    def has_cleanup(self) -> bool:
        """Whether a Job ends what a finished training leaves."""
        enabled = bool(self.section("cleanup").get("enabled"))
        return enabled and (self.ps_count > 0 or self.has_evaluator)

    @property
    def pages(self) -> list[PodRole]:
        """The roles that serve a page and are switched on."""
        return [
            role
            for role in POD_ROLES.values()
            if role.page and self.section(role.name).get("enabled")
        ]

    @property
    def claims(self) -> tuple[str, ...]:
        """The volumes that are claims."""
        return ("data", "log") if self.values["storage"]["data"].get("enabled") else ("log",)

    @property
    def colocate(self) -> bool:
        """Whether the pods that mount a claim have to share a node."""
        return on_one_node(self.values)

    def page(self, role: PodRole) -> str:
        """The name of a page's Deployment and Service."""
        return f"{self.fullname}-{role.name}"

    def claim(self, volume: str) -> str:
        """The name of the claim at /data or /log."""
        own = self.values["storage"][volume].get("existingClaim")
        return str(own or f"{self.fullname}-{volume}")

    @property
    def ps_mount_log(self) -> bool:
        """Whether the ps mount /log to write checkpoints themselves."""
        asked = self.section("ps").get("logVolume")
        if not self.ps_count:
            return False
        if isinstance(asked, bool):
            return asked
        shared = "ReadWriteMany" in (self.values["storage"]["log"].get("accessModes") or [])
        own_program = bool(self.section("program").get("module")) and not self.interactive
        return shared and own_program and not self.colocate

    def mounted(self, role: PodRole) -> tuple[str, ...]:
        """What the pods of a role mount, each at /NAME."""
        of_ps = role.claims == "script"
        if role.claims == "always" or (of_ps and self.ps_run_script):
            return role.volumes
        return ("log",) if of_ps and self.ps_mount_log else ()

    def section(self, name: str) -> Mapping[str, Any]:
        """A section of the values; empty where there is none."""
        found = self.values.get(name)
        return found if isinstance(found, Mapping) else {}


def fullname(values: Mapping[str, Any], release: str) -> str:
    """What the names of a release's objects start with."""
    own = values.get("nameOverride")
    return str(values.get("fullnameOverride") or (f"{release}-{own}" if own else release))
