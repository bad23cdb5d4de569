"""The cluster: pods, Jobs, the network between them, upgrades and faults; and what must hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from tf_cluster_cleanup.job_state import Phase
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import COMBINATIONS
from tf_cluster_trainer.run_directory.owner import Owner
from tf_cluster_trainer.supervisor.rules.events import PeerFailed
from tf_cluster_trainer.supervisor.status.document import DONE, FAILED, SUPERSEDED, Outcome

from .attempt import Attempt, Job, changed, counts_as_failure
from .children import Child
from .disk import Disk
from .engine import Engine
from .pods import TIMING, ChiefPod, FollowerPod, Pod

CALM_AFTER = 150.0  # virtual seconds: no fault and no upgrade comes later
HORIZON = 6000.0
GRACE = 90.0
NEVER = 1e9


class BrokenError(AssertionError):
    """An invariant does not hold."""


class World:
    """One schedule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.engine = Engine(seed)
        self.disk = Disk(self.engine)
        self.attempts: list[Attempt] = []
        self.pods: list[Pod] = []
        self.silent: set[str] = set()  # tasks that a connection was not closed by
        self.broken_programs: set[str] = set()
        self.late: dict[tuple[str, str], float] = {}  # seconds until a pod has a node
        self.cuts: list[tuple[Pod | None, Pod, float]] = []  # who can't hear whom, until when
        self.lossy = 0.0
        self._uids = 0
        self._fatal = False  # something was drawn that a training can't survive
        # Drawn apart: whatever is added here leaves the other schedules as they are.
        self.habits = random.Random(-18 - seed)
        self.saves_for_long = self.habits.random() < 0.1
        self.deaf_children = self.habits.random() < 0.1
        self._draw()

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

    # What is drawn

    def _draw(self) -> None:
        chance = self.engine.chance
        row = chance.choice(COMBINATIONS)
        attempt = Attempt(
            name="a1",
            combination=row,
            workers=chance.randint(1, 3),
            ps=chance.randint(1, 2),
            total=chance.choice([60, 200, 500]),
            restarts=chance.randint(1, 5),
            deadline=chance.choice([40.0, 90.0]),
            evaluator=chance.random() < 0.3,
            backoff=chance.choice([20, 20, 0, 1]),
        )
        if chance.random() < 0.2:
            self.disk.fragile = chance.choice([0.002, 0.01])
            self.disk.accident = self._accident
            self.engine.after(CALM_AFTER, self._mend_the_disk)
        if chance.random() < 0.03:
            self.broken_programs.add("a1")
        if chance.random() < 0.15:
            kind = chance.choice(["worker-0", "worker-1", "chief-0", "ps-0", "evaluator-0"])
            self.late["a1", kind] = chance.choice([30.0, 200.0, NEVER])
        self._install(attempt)
        for _ in range(chance.choice([0, 1, 1, 2, 3, 5])):
            self.engine.soon(0.0, CALM_AFTER, self._fault)
        if chance.random() < 0.35:
            self.engine.soon(0.0, chance.choice([20.0, CALM_AFTER]), self._upgrade)

    def _install(self, attempt: Attempt) -> None:
        self.engine.tell("helm", f"installs {attempt.name}: {attempt.combination.name}")
        self.attempts.append(attempt)
        for job in attempt.jobs.values():
            for index in job.indexes:
                self._schedule(job, index, 0.0)
        self.engine.soon(1.0, 5.0, attempt.look, self)

    def _schedule(self, job: Job, index: int, delay: float) -> None:
        """Make a pod, and have it start when it has a node."""
        late = self.late.get((job.attempt.name, f"{job.kind}-{index}"), 0.0)
        if late < NEVER:
            self.engine.after(delay + late, self._start, job, index)

    def _start(self, job: Job, index: int) -> None:
        if not job.wants_pods or index in job.done:
            return
        kind = ChiefPod if (job.kind, index) == job.attempt.chief else FollowerPod
        self.pods.append(kind(self, job, index))

    def _upgrade(self) -> None:
        """A new attempt, of the same run; the old one's objects go now, later, or never."""
        chance, old = self.engine.chance, self.attempts[-1]
        row = old.combination if chance.random() < 0.7 else chance.choice(COMBINATIONS)
        total = old.total + chance.choice([0, 100])
        number = len(self.attempts) + 1
        if chance.random() < 0.3:  # the same values again, as after an uninstall or a rollback
            again = chance.choice(self.attempts)
            for one in self.attempts:
                if one.name == again.name:
                    self._remove(one)
            new = changed(again, again.name, number=number)
        else:
            new = changed(old, f"a{number}", combination=row, total=total, number=number)
        removal = chance.choice([0.0, 0.0, 30.0, 200.0, NEVER])
        if removal < NEVER:
            self.engine.after(removal, self._remove, old)
        self._install(new)
        if chance.random() < 0.2:
            self.engine.soon(0.0, 60.0, self._upgrade)

    def _remove(self, attempt: Attempt) -> None:
        self.engine.tell("helm", f"removes {attempt.name}")
        for job in attempt.jobs.values():
            job.deleted = True
            self.stop_pods(job)

    def _fault(self) -> None:
        chance = self.engine.chance
        alive = [pod for pod in self.pods if not pod.gone]
        if not alive:
            return
        pod = chance.choice(alive)
        fault = chance.choice(
            ["child", "child", "process", "node", "drain", "cut", "slow", "broken", "lossy"]
        )
        self.engine.tell("fault", f"{fault} {pod.label}")
        if fault == "child" and pod.child is not None:
            pod.child.kill()
        elif fault == "process":
            self._lose(pod, exit_codes.FAILED)
        elif fault == "node":
            self.silent.add(pod.name)
            pod.vanish("its node is gone")
        elif fault == "drain":
            pod.stop(GRACE)
        elif fault == "cut":
            other = chance.choice([None, *alive])
            self.cuts.append((other, pod, self.engine.now + chance.uniform(1.0, 40.0)))
        elif fault == "slow":
            self.disk.slow_until = self.engine.now + chance.uniform(1.0, 40.0)
        elif fault == "broken":
            self.disk.broken_until = self.engine.now + chance.uniform(0.5, 15.0)
        elif fault == "lossy":
            self.lossy = chance.uniform(0.0, 0.4)
            self.engine.soon(5.0, 40.0, self._calm)

    def _calm(self) -> None:
        self.lossy = 0.0

    def _mend_the_disk(self) -> None:
        self.disk.fragile = 0.0

    def _accident(self) -> None:
        """Between two operations on the disk somebody is lost."""
        alive = [pod for pod in self.pods if not pod.gone]
        if alive:
            pod = self.engine.chance.choice(alive)
            self.engine.tell("fault", f"between two writes: {pod.label}")
            if self.engine.chance.random() < 0.5 and pod.child is not None:
                pod.child.kill()
            else:
                pod.vanish("killed")

    def _lose(self, pod: Pod, code: int) -> None:
        if not pod.gone:
            pod.exit(code)

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

    def server(self, attempt: Attempt, name: str) -> object:
        """Which server a task runs now, None: none."""
        kind, _, index = name.partition("-")
        pod = self.pod_at(attempt, kind, int(index))
        return pod.server if pod else None

    def epoch_of(self, attempt: Attempt, name: str) -> str | None:
        """The epoch that a task has adopted."""
        kind, _, index = name.partition("-")
        pod = self.pod_at(attempt, kind, int(index))
        return pod.epoch if pod else None

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
            if pod is None or self._is_cut(asker, pod) or chance.random() < self.lossy:
                self.engine.soon(0.01, 2.0, back, None)
                return
            late = 5.0 if chance.random() < 0.02 else 0.05
            self.engine.soon(0.001, late, back, question(pod))

        def back(answer: Any) -> None:
            if not asker.gone:
                answered(answer)

        self.engine.soon(0.001, 0.05, arrive)

    def ask_pod(self, asker: Pod, uid: str, answered: Callable[[bool], None]) -> None:
        """Does the supervisor of this pod answer?"""

        def back() -> None:
            there = [pod for pod in self.pods if pod.uid == uid and pod.up]
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
                if job.backoff >= 6 and not self._fatal and NEVER not in self.late.values():
                    self._broken(f"the Job {job.kind} of {job.attempt.name} failed for good")
                self._fatal = True
                self.fail(job)
            else:
                self._replace(pod, min(10.0 * 2**job.failures, 60.0))

    def pod_lost(self, pod: Pod) -> None:
        """It is gone with its node, or was killed after its grace period: a disruption."""
        self._replace(pod, 5.0)

    def fail(self, job: Job) -> None:
        """The Job has failed: no pod of it runs any more."""
        if job.phase is Phase.RUNNING:
            self.engine.tell("job", f"{job.attempt.name}/{job.kind} has failed")
            job.phase = Phase.FAILED
            self.stop_pods(job)

    def stop_pods(self, job: Job) -> None:
        """Delete those that are left."""
        for pod in self.pods:
            if pod.job is job and not pod.gone:
                self.engine.soon(0.0, 1.0, pod.stop, GRACE)

    def _replace(self, pod: Pod, delay: float) -> None:
        if pod.job.wants_pods:
            self.engine.soon(0.5 * delay, delay, self._schedule, pod.job, pod.index, 0.0)
            self.engine.after(delay, self._heard_of, pod)

    def _heard_of(self, pod: Pod) -> None:
        """A successor answers at its address: connections to the one before are reset at last."""

    # What must hold

    def write_checkpoint(self, pod: Pod, step: int) -> None:
        """A checkpoint is renamed into place."""
        disk, job = self.disk, pod.job.uid
        jobs = [writer for writer, _ in disk.writers]
        if job in jobs and jobs[-1] != job:
            self._broken(f"{pod.label} writes a checkpoint after {jobs[-1]} did")
        if disk.checkpoint is not None and step < disk.checkpoint and jobs[-1] != job:
            self._broken(f"{pod.label} writes step {step} after step {disk.checkpoint}")
        disk.writers.append((job, step))
        disk.checkpoint = max(step, disk.checkpoint or 0)

    def owner_replaced(self, pod: Pod, before: Owner | None) -> None:
        """A chief has put itself into owner.json."""
        if before is None or before.released or before.job_uid == pod.job.uid:
            return
        owner = next((other for other in self.pods if other.uid == before.pod_uid), None)
        calm = self.engine.now - 3 * TIMING.renewal
        troubled = max(self.disk.slow_until, self.disk.broken_until) > calm
        cut = any(until > calm and owner in (a, b) for a, b, until in self.cuts)
        if owner is not None and not (owner.gone or owner.ending or troubled or cut):
            self._broken(f"{pod.label} takes the run from {owner.label}, which is well")

    def let_go(self, pod: Pod, epoch: str | None) -> None:
        """A task's child is let go for the chief's child of this epoch."""
        chief, _, _ = (epoch or "").partition("/")
        known = next((other for other in self.pods if other.uid == chief), None)
        if known is None or known.job.attempt.name != pod.job.attempt.name:
            self._broken(f"{pod.label} begins for {epoch}, which is not its attempt's chief")
        elif known.gone and self.engine.now - known.gone_at > 10.0:
            self._broken(f"{pod.label} begins for {epoch}, whose pod has been gone for long")

    def attempt_ended(self, pod: Pod, outcome: Outcome) -> None:
        """A chief shows how it ended."""
        attempt = pod.job.attempt
        if outcome.final:
            attempt.final = outcome.status
        if outcome.status == DONE and (self.disk.checkpoint or 0) < attempt.total:
            self._broken(f"{pod.label} is done at step {self.disk.checkpoint} of {attempt.total}")
        if outcome.status == SUPERSEDED and len(self.attempts) == 1:
            self._broken(f"{pod.label} is superseded by nobody")

    def _check_exit(self, pod: Pod, code: int) -> None:
        attempt, disk = pod.job.attempt, self.disk
        if code != exit_codes.DONE or isinstance(pod, ChiefPod):
            return
        over = attempt.final is not None or (disk.checkpoint or 0) >= attempt.total
        owner = disk.owner
        if not over and not (owner is not None and pod.job.uid in owner.superseded):
            self._broken(f"{pod.label} exits 0 before its attempt's end")

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
            self._broken(f"still there after {HORIZON:g} s: pods {waiting}, jobs {jobs}")
        came = [
            a
            for uid in self.disk.arrivals.values()
            for a in self.attempts
            if a.chiefs_job.uid == uid
        ]
        last = came[-1] if came else self.attempts[-1]
        if self._fatal or NEVER in self.late.values() or last.chiefs_job.deleted:
            return
        if (self.disk.checkpoint or 0) < last.total:
            self._broken(f"the run ended at step {self.disk.checkpoint} of {last.total}")

    def _broken(self, what: str) -> None:
        raise BrokenError(f"seed {self.seed}: {what}")


__all__ = ["FAILED", "BrokenError", "World"]
