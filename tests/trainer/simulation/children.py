"""The one child of a task, as its supervisor sees it: what it says, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tf_cluster_trainer import exit_codes, protocol
from tf_cluster_trainer.supervisor.rules.events import ChildEnded, ChildSaid

if TYPE_CHECKING:
    from .pods import Pod

KILLED, TERMINATED = -9, -15


def _nothing() -> None:
    """What follows a save on the way."""


class Child:
    """A process that loads for a while, and then does what its kind does."""

    def __init__(self, pod: Pod, number: int) -> None:
        self.pod = pod
        self.number = number
        self.alive = True
        self.begun = False
        self.asked_to_end = False
        self.known: set[str] = set()  # the chief's children of which its supervisor has heard
        self.world = pod.world
        self.engine = pod.world.engine
        self.engine.soon(0.5, 6.0, self._loaded_if_alive)

    def let_go(self) -> None:
        """It may begin."""
        self.begun = True

    def finish(self, step: int | None) -> None:
        """To an evaluator: this checkpoint is the last."""

    def terminate(self) -> None:
        """SIGTERM, which some child does not heed."""
        self.asked_to_end = True
        if not self.world.deaf_children:
            self.end(TERMINATED)

    def kill(self) -> None:
        """SIGKILL."""
        self.end(KILLED)

    def end(self, code: int, failure: str = "", *lost: str) -> None:
        """End with this code, after telling why."""
        if not self.alive:
            return
        self.alive = False
        if failure:
            self.pod.deliver(ChildSaid(self.number, protocol.Failure(failure, lost)))
        self.engine.soon(0.001, 0.1, self.pod.deliver, ChildEnded(self.number, code))

    def say(self, message: protocol.Message) -> None:
        """Tell the supervisor."""
        self.pod.deliver(ChildSaid(self.number, message))

    def loaded(self) -> None:
        """Its imports are done."""

    def _loaded_if_alive(self) -> None:
        if self.alive and not self.pod.gone:
            self.loaded()


@dataclass
class Variables:
    """What a ps holds: whose child of a chief put it there, and how many steps are in its values.

    A value is the number of the steps that made it: that of the checkpoint it was restored from,
    and those since.
    """

    epoch: str
    steps: int


class Server(Child):
    """TensorFlow's server: of a ps, or of a worker that a chief drives. It begins empty."""

    held: Variables | None = None

    @property
    def holds(self) -> bool:
        """Whether it is a ps', which holds variables."""
        return self.pod.job.kind == "ps"

    def loaded(self) -> None:
        self.say(protocol.Serving())


class Evaluator(Child):
    """It measures the last checkpoint when it is told to."""

    _last: bool = False
    _ready: bool = False

    def loaded(self) -> None:
        self._ready = True
        self.say(protocol.Ready())
        self._end_when_due()

    def finish(self, step: int | None) -> None:
        self._last = True
        self._end_when_due()

    def _end_when_due(self) -> None:
        if self._last and self._ready:
            self.engine.soon(0.5, 5.0, self.end, exit_codes.DONE)


class Trainer(Child):
    """The chief's: it makes the run's steps with the others, saves, and exports.

    Of between-graph replication and all-reduce it is worker 0's, and the others make steps too.
    """

    def __init__(self, pod: Pod, number: int) -> None:
        super().__init__(pod, number)
        self.attempt = pod.job.attempt
        self.step = 0
        self.members: set[str] = set()  # all-reduce: who trains with it
        self.at_total = False
        self.epoch = f"{pod.uid}/{number}"
        self._met: dict[str, Child | None] = {}
        self._steps = 0  # all-reduce: what is in its own variables
        self._saving = False
        self._deadline = 0.0

    def loaded(self) -> None:
        if self.attempt.name in self.world.broken_programs:
            self.end(exit_codes.CONFIG, "the program failed in build_model")
            return
        self.say(protocol.Ready())

    def let_go(self) -> None:
        self.begun = True
        self.step = self.world.disk.checkpoint or 0
        self._met = {name: self.world.server(self.attempt, name) for name in self._needed()}
        self._deadline = self.engine.now + 120.0
        self._restore()
        if self.step >= self.attempt.total:
            self._finish_what_was_cut_off()
            return
        if self.attempt.name in self.world.broken_data:
            self.engine.soon(0.2, 2.0, self.end, exit_codes.CONFIG, "the data has no column b")
            return
        if self.attempt.name in self.world.crashing:
            self.engine.soon(0.2, 2.0, self.end, KILLED)
            return
        self.engine.soon(0.2, 2.0, self._train)
        self.engine.soon(6.0, 10.0, self._save_now_and_then)

    def terminate(self) -> None:
        if not self.begun:
            super().terminate()
        elif not self.asked_to_end:
            self.asked_to_end = True
            if self._gone():
                self.end(exit_codes.STOPPED, "nothing could be saved")
            else:
                self._save(lambda: self.end(exit_codes.STOPPED))

    def _needed(self) -> list[str]:
        own = self.pod.name
        return [
            f"{kind}-{index}"
            for kind in self.attempt.combination.needed
            for index in range(len(self.attempt.cluster.cluster.get(kind, ())))
            if f"{kind}-{index}" != own
        ]

    def _train(self) -> None:
        if not self.alive or self.pod.gone or self.asked_to_end or self.at_total:
            return
        again = True
        gone = self._gone()
        if gone and self.attempt.combination.ps_rejoins:
            self._take_back(gone)
        elif gone and self._waits_for_ever(gone):
            pass
        elif gone or not self._all_joined():
            if gone or self.engine.now > self._deadline:
                again = False
                words = f"{' and '.join(gone) or 'a worker'} is lost"
                self.engine.soon(0.1, 2.0, self.end, exit_codes.PEER_LOST, words, *gone)
        elif self._somebody_works():
            self._make_steps()
        if again:
            self.engine.soon(1.0, 3.0, self._train)

    def _take_back(self, gone: list[str]) -> None:
        """Between-graph: fill ps that came back empty with the newest checkpoint."""
        there = {name: self.world.server(self.attempt, name) for name in gone}
        if all(there.values()):
            self._met.update(there)
            self._restore()

    def _waits_for_ever(self, gone: list[str]) -> bool:
        """Whether no connection was closed and there are no heartbeats, as all-reduce has them."""
        met = [self._met[name] for name in gone]
        silent = any(server and server.pod.closes_nothing for server in met)
        return self.attempt.combination.has_ps and silent

    def _all_joined(self) -> bool:
        if self.attempt.combination.has_ps:
            return True
        return len(self.members) == self.attempt.workers - 1

    def _somebody_works(self) -> bool:
        if not self.attempt.combination.has_chief:
            return True
        names = [f"worker-{index}" for index in range(self.attempt.workers)]
        return any(self.world.server(self.attempt, name) is not None for name in names)

    # The variables

    def _gone(self) -> list[str]:
        """Whom it needs and who is not, or not any more, the one that it met."""
        server, attempt = self.world.server, self.attempt
        return [n for n, met in self._met.items() if met is None or server(attempt, n) is not met]

    def _ps(self) -> list[Server]:
        return [met for met in self._met.values() if isinstance(met, Server) and met.holds]

    def _restore(self) -> None:
        """Put the newest checkpoint, or the first values, on every ps that is there."""
        self.step = self._steps = self.world.disk.checkpoint or 0
        for server in self._ps():
            before = server.held
            stays = not (self.attempt.combination.ps_rejoins or server.pod.stopping)
            stays = stays and not self.world.shares_its_name(self.attempt)  # decision 14
            heard = before is not None and before.epoch in server.known  # decision 14, too
            if before and heard and before.epoch != self.epoch and stays:
                # In-graph they are never given back.
                self.world.break_off(
                    f"{self.pod.label} begins while variables of {before.epoch} "
                    f"are still on {server.pod.label}"
                )
            server.held = Variables(self.epoch, self.step)

    def _count(self, steps: int) -> None:
        self.step += steps
        self._steps += steps
        for server in self._ps():
            if server.held is None or server.held.epoch != self.epoch:
                if self.world.shares_its_name(self.attempt):
                    continue  # decision 14
                whose = server.held.epoch if server.held else "nobody"
                self.world.break_off(f"{self.pod.label} trains on variables of {whose}")
            else:
                server.held.steps += steps

    def _steps_in_variables(self) -> int:
        """How many steps are in what is saved; where they differ, any that is not right."""
        if self.world.shares_its_name(self.attempt):
            return self.step  # decision 14
        found = {server.held.steps if server.held else 0 for server in self._ps()}
        found = found or {self._steps}
        wrong = [steps for steps in found if steps != self.step]
        return wrong[0] if wrong else self.step

    def _make_steps(self) -> None:
        most = self.attempt.total - self.step
        self._count(min(self.engine.chance.randint(5, 25), most))
        self.say(protocol.Progress(self.step, self.step, None, None, {"0": self.step}))
        if self.step >= self.attempt.total:
            self.at_total = True
            self.say(protocol.Finishing())
            self._save(self._export)

    def _finish_what_was_cut_off(self) -> None:
        self.at_total = True
        self.say(protocol.Finishing())
        self.engine.soon(0.2, 2.0, self._export)

    def _export(self) -> None:
        if not self.alive or self.pod.gone:
            return
        if not self.world.disk.owned_by(self.pod.job.uid, self.pod.uid):
            self.end(exit_codes.NOT_OWNER)
            return
        self.world.disk.exported = max(self.step, self.world.disk.exported)
        self.say(protocol.Result(self.step))
        self.end(exit_codes.DONE)

    def _save_now_and_then(self) -> None:
        if self.alive and not self.pod.gone and not self.asked_to_end and not self.at_total:
            self._save(_nothing)
            self.engine.soon(6.0, 10.0, self._save_now_and_then)

    def _save(self, then: Callable[[], None]) -> None:
        """One save after the other, as the one thread that writes checkpoints makes them."""
        if not self.alive or self.pod.gone or (then is _nothing and self._gone()):
            return
        self._write(self.step, self._steps_in_variables(), then)

    def _write(self, step: int, steps: int, then: Callable[[], None]) -> None:
        if not self.alive or self.pod.gone:
            return
        if self._saving:
            if then is not _nothing:
                self.engine.after(0.1, self._write, step, steps, then)
            return
        self._saving = True
        disk = self.world.disk

        def mine() -> bool:
            return disk.owned_by(self.pod.job.uid, self.pod.uid)

        def written() -> None:
            self._saving = False
            if not self.alive or self.pod.gone:
                return
            if not mine():
                self.end(exit_codes.NOT_OWNER, "another attempt owns the run")
                return
            self.world.write_checkpoint(self.pod, step, steps)
            self.say(protocol.Saved(step, 0.1))
            then()

        def failed() -> None:
            if self.alive and not self.pod.gone:
                self.end(exit_codes.FAILED, "can't write the checkpoint")

        if not mine():
            self.end(exit_codes.NOT_OWNER, "another attempt owns the run")
        elif self.world.saves_for_long:
            # And the supervisor's own writes come behind it.
            seconds = self.engine.chance.uniform(5.0, 30.0)
            self.pod.slow_until = self.engine.now + seconds
            self.engine.after(seconds, self._flush, written, failed)
        else:
            disk.write(written, failed)

    def _flush(self, written: Callable[[], None], failed: Callable[[], None]) -> None:
        self.world.disk.write(written, failed)


class Trainee(Child):
    """A worker's that trains beside worker 0's."""

    _with: Trainer | None = None

    def loaded(self) -> None:
        self.say(protocol.Ready())

    def let_go(self) -> None:
        self.begun = True
        chief = self.world.chiefs_child(self.pod.job.attempt)
        self._with = chief if isinstance(chief, Trainer) else None
        if self._with and not self.pod.job.attempt.combination.has_ps:
            self._with.members.add(self.pod.name)
        self._deadline = self.engine.now + 120.0
        self.engine.soon(1.0, 3.0, self._train)

    def terminate(self) -> None:
        if not self.begun:
            super().terminate()
            return
        self.asked_to_end = True
        lockstep = not self.pod.job.attempt.combination.has_ps
        if lockstep and self._with and self._with.alive:
            self._with.terminate()  # all agree on the step to end at
        self.engine.soon(0.5, 3.0, self.end, exit_codes.STOPPED)

    def _train(self) -> None:
        if not self.alive or self.pod.gone or self.asked_to_end:
            return
        attempt = self.pod.job.attempt
        if attempt.combination.has_ps:
            chief = self.world.chiefs_child(attempt)
            reached = isinstance(chief, Trainer) and chief.at_total
            if reached or (self.world.disk.checkpoint or 0) >= attempt.total:
                self.end(exit_codes.DONE)
                return
        elif self._with is None or self._with.at_total:
            code = exit_codes.PEER_LOST if self._with is None else exit_codes.DONE
            self.end(code)
            return
        elif self._with.asked_to_end and self._with.alive:
            self.end(exit_codes.STOPPED)
            return
        elif not self._with.alive or self._with.pod.gone:
            self.engine.soon(0.1, 2.0, self.end, exit_codes.PEER_LOST, "worker-0 is lost")
            return
        self.engine.soon(1.0, 3.0, self._train)
