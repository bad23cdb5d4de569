"""What a seed draws: a combination, its sizes, faults, upgrades."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import COMBINATIONS, Combination

from .attempt import Attempt, changed
from .disk import Accidents

if TYPE_CHECKING:
    from .world import World

CALM_AFTER = 150.0  # virtual seconds: no fault and no upgrade comes later
GRACE = 90.0
NEVER = 1e9
FAULTS = (
    "child",
    "child",
    "process",
    "node",
    "drain",
    "cut",
    "slow",
    "broken",
    "lossy",
    "pause",
    "job",
    "unheard",
)


@dataclass(frozen=True)
class Focus:
    """Draw only such schedules: what one mutant of the rules is looked for in."""

    combination: Combination | None = None
    faults: tuple[str, ...] = FAULTS
    upgrades: float = 0.35
    slow_networks: float = 0.1


ANYTHING = Focus()


def draw(world: World, focus: Focus = ANYTHING) -> None:
    """Put a schedule on the world's agenda."""
    _Draw(world, focus).begin()


class _Draw:
    def __init__(self, world: World, focus: Focus) -> None:
        self.world, self.focus = world, focus
        self.engine = world.engine
        self.chance: random.Random = world.engine.chance

    def begin(self) -> None:
        world, chance = self.world, self.chance
        script = chance.random() < 0.15
        attempt = Attempt(
            name="a1",
            combination=self.focus.combination or chance.choice(COMBINATIONS),
            workers=chance.randint(1, 3),
            ps=chance.randint(1, 2),
            total=chance.choice([60, 200, 500]),
            restarts=chance.randint(1, 5),
            deadline=chance.choice([40.0, 90.0]),
            evaluator=not script and chance.random() < 0.3,
            backoff=chance.choice([20, 20, 0, 1]),
            script=script,
            script_on_ps=chance.random() < 0.5,
        )
        world.saves_for_long = chance.random() < 0.1
        world.deaf_children = chance.random() < 0.1
        if chance.random() < self.focus.slow_networks:
            world.slow_network = 0.3
        world.scripts_end = chance.random() < 0.5
        if chance.random() < 0.2:
            world.disk.accidents = Accidents(chance.choice([0.002, 0.01]), self._accident)
            self.engine.after(CALM_AFTER, world.disk.mend)
        if chance.random() < 0.03:
            world.broken_programs.add("a1")
        elif chance.random() < 0.03:
            world.broken_data.add("a1")
        elif chance.random() < 0.03:
            world.crashing.add("a1")
        if chance.random() < 0.15:
            kind = chance.choice(["worker-0", "worker-1", "chief-0", "ps-0", "evaluator-0"])
            world.late["a1", kind] = chance.choice([30.0, 200.0, NEVER])
        world.install(attempt)
        for _ in range(chance.choice([0, 1, 1, 2, 3, 5])):
            self.engine.soon(0.0, CALM_AFTER, self._fault)
        if chance.random() < self.focus.upgrades:
            self.engine.soon(0.0, chance.choice([20.0, CALM_AFTER]), self._upgrade)

    def _upgrade(self) -> None:
        """A new attempt, of the same run; the old one's objects go now, later, or never."""
        chance, world = self.chance, self.world
        old = world.attempts[-1]
        row = old.combination if chance.random() < 0.7 else chance.choice(COMBINATIONS)
        total = old.total + chance.choice([0, 100])
        if chance.random() < 0.3:  # the same values again, as after an uninstall or a rollback
            world.install_again(chance.choice(world.attempts))
        else:
            number = len(world.attempts) + 1
            new = changed(old, f"a{number}", combination=row, total=total, number=number)
            removal = chance.choice([0.0, 0.0, 30.0, 200.0, NEVER])
            if removal < NEVER:
                self.engine.after(removal, world.remove, old)
            world.install(new)
        if chance.random() < 0.2:
            self.engine.soon(0.0, 60.0, self._upgrade)

    def _fault(self) -> None:
        chance, world = self.chance, self.world
        alive = [pod for pod in world.pods if not pod.gone]
        if not alive:
            return
        pod = chance.choice(alive)
        fault = chance.choice(self.focus.faults)
        self.engine.tell("fault", f"{fault} {pod.label}")
        if fault == "child" and pod.child is not None:
            pod.child.kill()
        elif fault == "process":
            world.lose(pod, exit_codes.FAILED)
        elif fault == "node":
            world.lose_node(pod)
        elif fault == "drain":
            pod.stop(GRACE)
        elif fault == "pause":
            pod.pause(chance.uniform(1.0, 60.0))
        elif fault == "unheard":
            pod.unheard_until = self.engine.now + chance.uniform(5.0, 60.0)
        elif fault == "job":
            world.fail_for_good(pod.job.attempt.jobs["worker"])
        elif fault == "cut":
            other = chance.choice([None, *alive])
            world.cuts.append((other, pod, self.engine.now + chance.uniform(1.0, 40.0)))
        elif fault == "slow":
            world.disk.slow_until = self.engine.now + chance.uniform(1.0, 40.0)
        elif fault == "broken":
            world.disk.broken_until = self.engine.now + chance.uniform(0.5, 15.0)
        elif fault == "lossy":
            world.lossy = chance.uniform(0.0, 0.4)
            self.engine.soon(5.0, 40.0, world.calm)

    def _accident(self) -> None:
        """Between two operations on the disk somebody is lost."""
        alive = [pod for pod in self.world.pods if not pod.gone]
        if alive:
            pod = self.chance.choice(alive)
            self.engine.tell("fault", f"between two writes: {pod.label}")
            if self.chance.random() < 0.5 and pod.child is not None:
                pod.child.kill()
            else:
                pod.vanish("killed")
