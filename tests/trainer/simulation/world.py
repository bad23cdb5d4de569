"""The cluster: pods, Jobs, the network between them, upgrades and faults; and what must hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tf_cluster_cleanup.job_state import Phase
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.rules.events import PeerFailed
from tf_cluster_trainer.supervisor.status.document import DONE, FAILED, SUPERSEDED, Outcome

from .attempt import Attempt, Job, changed, counts_as_failure
from .chief_pod import ChiefPod
from .children import Child
from .disk import Disk
from .engine import Engine, Steady
from .pods import TIMING, FollowerPod, Pod
from .schedule import ANYTHING, CALM_AFTER, GRACE, NEVER, Focus, draw

HORIZON = 6000.0
SAME_MOMENT = 0.1  # seconds in which two can take a run, as neither sees the other's file
HELM_SECONDS = 1.5  # from `helm uninstall` to the next one's objects, at the least


class BrokenError(AssertionError):
    """An invariant does not hold."""


class World:
    """One schedule."""

    def __init__(self, schedule: Callable[[World], None], chance: random.Random, name: str) -> None:
        """`schedule` puts what is to happen on the agenda, before anything happens."""
        self.name = name
        self.engine = Engine(chance)
        self.disk = Disk(self.engine)
        self.attempts: list[Attempt] = []
        self.pods: list[Pod] = []
        self.broken_programs: set[str] = set()
        self.broken_data: set[str] = set()  # found when the first step is to be made
        self.late: dict[tuple[str, str], float] = {}  # seconds until a pod has a node
        self.cuts: list[tuple[Pod | None, Pod, float]] = []  # who can't hear whom, until when
        self.lossy = 0.0
        self.crashing: set[str] = set()  # their training process is killed again and again
        self.slow_network = 0.02  # how likely an answer takes up to 5 s
        self._uids = 0
        self._taken_at = self._renewed_at = -1.0
        self._fatal = False  # something was drawn that a training can't survive
        self.saves_for_long = self.deaf_children = self.scripts_end = False
        # For how long a pod's operation of the election is held up before it is done.
        self.holds_up: Callable[[Pod, object], float] = lambda pod, operation: 0.0
        self.when_written: Callable[[Pod, int], None] = lambda pod, step: None  # a checkpoint
        self.when_ended: Callable[[], None] = lambda: None  # each time that a chief has
        schedule(self)

    @classmethod
    def drawn(cls, seed: int, focus: Focus = ANYTHING) -> World:
        """One seed, one schedule."""
        return cls(lambda world: draw(world, focus), random.Random(seed), f"seed {seed}")

    @classmethod
    def of(cls, schedule: Callable[[World], None]) -> World:
        """A schedule that is written out, without chance."""
        return cls(schedule, Steady(), schedule.__name__)

    def run(self) -> None:
        """To the end of the schedule. Raises BrokenError."""
        while self.engine.now < HORIZON and self.engine.step():
            if self.engine.now > CALM_AFTER and self._all_is_over():
                break
        self._check_the_end()

    def new_uid(self) -> str:
        """Of a pod."""
        self._uids += 1
        return f"pod{self._uids}"

    # What can be done to it

    def install(self, attempt: Attempt) -> None:
        """Make its objects."""
        self.engine.tell("helm", f"installs {attempt.name}: {attempt.combination.name}")
        self.attempts.append(attempt)
        for job in attempt.jobs.values():
            for index in job.indexes:
                self._schedule(job, index, 0.0)
        self.engine.soon(1.0, 5.0, attempt.look, self)

    def _schedule(self, job: Job, index: int, delay: float) -> None:
        """Make a pod, and have it start when it has a node."""
        late = self.late.get((job.attempt.name, f"{job.kind}-{index}"), 0.0)
        job.attempt.waited_for_nodes |= job.kind != "evaluator" and late > job.attempt.deadline
        if late < NEVER:
            self.late.pop((job.attempt.name, f"{job.kind}-{index}"), None)  # the next one is not
            self.engine.after(delay + late, self._start, job, index)

    def _start(self, job: Job, index: int) -> None:
        if not job.wants_pods or index in job.done:
            return
        kind = ChiefPod if (job.kind, index) == job.attempt.chief else FollowerPod
        self.pods.append(kind(self, job, index))

    def install_again(self, before: Attempt) -> None:
        """The same values again, and so the same name; whatever was wrong outside is mended."""
        for one in self.attempts:
            if one.name == before.name:
                self.remove(one)
        self.broken_programs.discard(before.name)
        self.broken_data.discard(before.name)
        self.crashing.discard(before.name)
        self.engine.after(HELM_SECONDS, self._install_if_removed, before)

    def _install_if_removed(self, before: Attempt) -> None:
        known = [one for one in self.attempts if one.name == before.name]
        if all(job.deleted for one in known for job in one.jobs.values()):
            self.install(changed(before, before.name, number=len(self.attempts) + 1))

    def remove(self, attempt: Attempt) -> None:
        """Delete all its objects."""
        self.engine.tell("helm", f"removes {attempt.name}")
        for job in attempt.jobs.values():
            job.deleted = True
            self.stop_pods(job)

    def fail_for_good(self, job: Job) -> None:
        """As a Job that has no retry left."""
        self._fatal = True
        self.fail(job)

    def lose(self, pod: Pod, code: int) -> None:
        """Its process ends with this code, from outside."""
        if not pod.gone:
            pod.exit(code)

    def lose_node(self, pod: Pod) -> None:
        """It is gone, and no connection is closed."""
        pod.closes_nothing = True
        pod.vanish("its node is gone")

    def calm(self) -> None:
        """Messages are lost no more."""
        self.lossy = 0.0

    # What the pods see of each other

    def pod_at(self, attempt: Attempt, kind: str, index: int) -> Pod | None:
        """Whoever answers at this task's address now: of two of one name perhaps the one before."""
        there = [
            pod
            for pod in self.pods
            if pod.up
            and pod.job.attempt.name == attempt.name
            and (pod.job.kind, pod.index) == (kind, index)
        ]
        return self.engine.chance.choice(there) if there else None

    def named(self, attempt: Attempt, name: str) -> Pod | None:
        """The same, by a name as `ps-0`."""
        kind, _, index = name.partition("-")
        return self.pod_at(attempt, kind, int(index))

    def server(self, attempt: Attempt, name: str) -> Child | None:
        """The child of a task that serves now, None: none."""
        pod = self.named(attempt, name)
        return pod.server if pod else None

    def chiefs_child(self, attempt: Attempt) -> Child | None:
        """The process that drives the run."""
        pod = self.pod_at(attempt, *attempt.chief)
        return pod.child if pod and pod.child and pod.child.alive else None

    def ask(
        self,
        asker: Pod,
        attempt: Attempt,
        kind: str,
        index: int,
        question: Callable[[Pod], Any],
        answered: Callable[[Any], None],
    ) -> None:
        """Over HTTP: the answer may be late, may be lost, or may come from one that is gone."""
        chance = self.engine.chance

        def arrive() -> None:
            pod = self.pod_at(attempt, kind, index)
            unheard = self.engine.now < asker.unheard_until or chance.random() < self.lossy
            if pod is None or unheard or pod.paused or self._is_cut(asker, pod):
                self.engine.soon(0.01, 2.0, back, None)
                return
            late = 5.0 if chance.random() < self.slow_network else 0.05
            self.engine.soon(0.001, late, back, question(pod))

        def back(answer: Any) -> None:
            if not asker.gone:
                answered(answer)

        self.engine.soon(0.001, 0.05, arrive)

    def ask_pod(self, asker: Pod, uid: str, answered: Callable[[bool], None]) -> None:
        """Does the supervisor of this pod answer?"""

        def back() -> None:
            there = [pod for pod in self.pods if pod.uid == uid and pod.up and not pod.paused]
            answered(bool(there) and not self._is_cut(asker, there[0]))

        self.engine.soon(0.01, 1.0, back)

    def _is_cut(self, one: Pod, other: Pod) -> bool:
        now = self.engine.now
        return any(
            until > now
            and (pair == {one, other} or (None in pair and (one in pair or other in pair)))
            for a, b, until in self.cuts
            for pair in ({a, b},)
        )

    def script_is_done(self, attempt: Attempt) -> None:
        """The chief's script has done its work."""
        attempt.script_done = True

    def tell_news(self, chief: Pod, name: str) -> None:
        """The chief asks a task to look at it."""
        kind, _, index = name.partition("-")

        def question(pod: Pod) -> None:
            if isinstance(pod, FollowerPod):
                pod.news()

        self.ask(chief, chief.job.attempt, kind, int(index), question, lambda _: None)

    def tell_failure(self, task: Pod, message: str) -> None:
        """A task tells the chief why it fails for good."""
        attempt = task.job.attempt
        self.ask(
            task,
            attempt,
            *attempt.chief,
            lambda chief: chief.deliver(PeerFailed(task.name, message)),
            lambda _: None,
        )

    def shares_its_name(self, attempt: Attempt) -> bool:
        """Whether pods of an earlier install of the same name were there a minute ago."""
        return any(
            pod.job.attempt is not attempt
            and pod.job.attempt.name == attempt.name
            and (not pod.gone or pod.gone_at > self.engine.now - 60.0)
            for pod in self.pods
        )

    # Kubernetes

    def is_ready(self, job: Job) -> bool:
        """Whether a pod of it is there."""
        return any(pod.job is job and pod.up for pod in self.pods)

    def pod_ended(self, pod: Pod, code: int) -> None:
        """Its process has ended by itself."""
        job = pod.job
        self._check_exit(pod, code)
        if job.endless:
            self._replace(pod, 2.0)
        elif code == exit_codes.DONE:
            job.done.add(pod.index)
            if len(job.done) == job.size and job.phase is Phase.RUNNING:
                job.phase = Phase.COMPLETE
        elif code == exit_codes.CONFIG:
            self._fatal = True
            self.fail(job)
        else:
            if counts_as_failure(code):
                job.failures += 1
            if job.failures > job.backoff:
                excused = self._fatal or self._had_a_reason(job)
                if job.backoff >= 6 and not excused and NEVER not in self.late.values():
                    self.break_off(f"the Job {job.kind} of {job.attempt.name} failed for good")
                self._fatal = True
                self.fail(job)
            else:
                self._replace(pod, min(10.0 * 2**job.failures, 60.0))

    def _had_a_reason(self, job: Job) -> bool:
        """Whether something was done to this attempt after which its Jobs may fail for good."""
        attempt, told = job.attempt, self.disk.progress or {}
        crashes = attempt.name in self.crashing
        # Tasks that give up sooner than their Jobs start them again may miss each other for long.
        missed = attempt.waited_for_nodes
        # A script's end is known to nobody when the disk did not take it and the chief went.
        unknown_end = attempt.script_done and told.get("status") != DONE
        # Its chief was superseded and left while it could hear nobody; nobody needs it.
        deaf = job.kind == "evaluator" and attempt.final == SUPERSEDED
        return crashes or missed or unknown_end or deaf

    def pod_lost(self, pod: Pod) -> None:
        """It is gone with its node, or was killed after its grace period: a disruption."""
        self._replace(pod, 5.0)

    def fail(self, job: Job) -> None:
        """The Job has failed: no pod of it runs any more."""
        if job.phase is Phase.RUNNING:
            self.engine.tell("job", f"{job.attempt.name}/{job.kind} has failed")
            job.phase = Phase.FAILED
            self.stop_pods(job)

    def cut(self, job: Job) -> None:
        """The Job keeps the indexes that are done, so it is complete and no pod of it runs."""
        if job.phase is Phase.RUNNING:
            self.engine.tell("job", f"{job.attempt.name}/{job.kind} is cut and complete")
            job.phase = Phase.COMPLETE
            self.stop_pods(job)

    def stop_pods(self, job: Job) -> None:
        """Delete those that are left."""
        for pod in self.pods:
            if pod.job is job and not pod.gone:
                self.engine.soon(0.0, 1.0, pod.stop, GRACE)

    def _replace(self, pod: Pod, delay: float) -> None:
        if pod.job.wants_pods:
            self.engine.soon(0.5 * delay, delay, self._schedule, pod.job, pod.index, 0.0)

    # What must hold

    def write_checkpoint(self, pod: Pod, step: int, steps: int) -> None:
        """A checkpoint of this step is renamed into place; in its variables are so many steps."""
        if steps != step:
            self.break_off(f"{pod.label} saves variables of {steps} steps as step {step}")
        disk, job = self.disk, pod.job.uid
        jobs = [writer for writer, _ in disk.writers]
        if job in jobs and jobs[-1] != job:
            self.break_off(f"{pod.label} writes a checkpoint after {jobs[-1]} did")
        if disk.checkpoint is not None and step < disk.checkpoint and jobs[-1] != job:
            self.break_off(f"{pod.label} writes step {step} after step {disk.checkpoint}")
        disk.writers.append((job, step))
        disk.checkpoint = max(step, disk.checkpoint or 0)
        self.when_written(pod, step)

    def owner_replaced(self, pod: Pod, before: Owner | None) -> None:
        """A chief has put itself into owner.json."""
        renewed, self._renewed_at = self._renewed_at, self.engine.now
        if before is None or before.pod_uid == pod.uid:
            return
        taken, self._taken_at = self._taken_at, self.engine.now
        if before.released or before.job_uid == pod.job.uid:
            return
        if self.engine.now - taken < SAME_MOMENT:
            return  # the election tells the two apart
        owner = next((other for other in self.pods if other.uid == before.pod_uid), None)
        calm = self.engine.now - 3 * TIMING.renewal
        cut = any(until > calm and (owner in (a, b) or pod in (a, b)) for a, b, until in self.cuts)
        if owner is None or owner.paused_until > calm or owner.gone or owner.ending:
            return
        # On a disk that is slow or broken it does not renew, and answers all the same.
        if not cut and self.engine.now - renewed < TIMING.save:
            self.break_off(f"{pod.label} takes the run from {owner.label}, which is well")

    def let_go(self, pod: Pod, epoch: str | None) -> None:
        """A task's child is let go for the chief's child of this epoch."""
        chief, _, _ = (epoch or "").partition("/")
        known = next((other for other in self.pods if other.uid == chief), None)
        if known is None or known.job.attempt.name != pod.job.attempt.name:
            self.break_off(f"{pod.label} begins for {epoch}, which is not its attempt's chief")
        elif known.gone and self.engine.now - max(known.gone_at, pod.paused_until) > 10.0:
            self.break_off(f"{pod.label} begins for {epoch}, whose pod has been gone for long")

    def child_started(self, pod: Pod, without_a_checkpoint: int) -> None:
        """A chief starts a child, so many in a row without a new checkpoint."""
        if without_a_checkpoint > pod.job.attempt.restarts + 1:
            self.break_off(f"{pod.label} starts a {without_a_checkpoint}th child in a row")

    def attempt_ended(self, pod: Pod, outcome: Outcome) -> None:
        """A chief shows how it ended."""
        attempt = pod.job.attempt
        if outcome.final:
            attempt.final = outcome.status
        self.when_ended()
        saved = attempt.script_done or (self.disk.checkpoint or 0) >= attempt.total
        if outcome.status == DONE and not saved:
            self.break_off(f"{pod.label} is done at step {self.disk.checkpoint} of {attempt.total}")
        if outcome.status == SUPERSEDED and len(self.attempts) == 1:
            self.break_off(f"{pod.label} is superseded by nobody")

    def _check_exit(self, pod: Pod, code: int) -> None:
        attempt, disk = pod.job.attempt, self.disk
        if code != exit_codes.DONE or isinstance(pod, ChiefPod):
            return
        at_total = not attempt.script and (disk.checkpoint or 0) >= attempt.total
        over = attempt.final is not None or at_total
        owner = disk.owner
        if not over and not (owner is not None and pod.job.uid in owner.superseded):
            self.break_off(f"{pod.label} exits 0 before its attempt's end")

    def _all_is_over(self) -> bool:
        return all(
            job.phase is not Phase.RUNNING or job.deleted
            for attempt in self.attempts
            for job in attempt.jobs.values()
        ) and all(pod.gone for pod in self.pods)

    def _check_the_end(self) -> None:
        if not self._all_is_over():
            without_node = {name for name, late in self.late.items() if late >= NEVER}
            waiting = [pod.label for pod in self.pods if not pod.gone]
            if without_node and all(pod.gone or pod.job.endless for pod in self.pods):
                return  # a Job waits for a node, and its servers with it: a person's matter
            jobs = [
                f"{attempt.name}/{kind}"
                for attempt in self.attempts
                for kind, job in attempt.jobs.items()
                if job.phase is Phase.RUNNING and not job.deleted
            ]
            self.break_off(f"still there after {HORIZON:g} s: pods {waiting}, jobs {jobs}")
        came = [
            a
            for uid in self.disk.arrivals.values()
            for a in self.attempts
            if a.chiefs_job.uid == uid
        ]
        last = came[-1] if came else self.attempts[-1]
        if self._fatal or NEVER in self.late.values() or last.chiefs_job.deleted:
            return
        if last.script and last.final != DONE:
            self.break_off(f"the script of {last.name} ended as {last.final}")
        if not last.script and (self.disk.checkpoint or 0) < last.total:
            self.break_off(f"the run ended at step {self.disk.checkpoint} of {last.total}")
        if not last.script and self.disk.exported < last.total:
            self.break_off(f"the model of step {last.total} is not exported")

    def break_off(self, what: str) -> None:
        """An invariant does not hold. Raises BrokenError."""
        raise BrokenError(f"{self.name}: {what}")


__all__ = ["FAILED", "BrokenError", "World"]
