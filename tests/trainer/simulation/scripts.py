"""The user's scripts: their supervisors start them when they may begin, and hear how they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tf_cluster_trainer import exit_codes

from .children import Child

if TYPE_CHECKING:
    from .pods import Pod

WORK = 10  # steps of a script's work in two seconds, as of a trainer


class ChiefsScript(Child):
    """It works with the tasks that are bound to its epoch, and waits for one that is replaced."""

    def __init__(self, pod: Pod, number: int) -> None:
        super().__init__(pod, number)
        self.attempt = pod.job.attempt
        self.made = 0
        self._met: dict[str, str] = {}

    def loaded(self) -> None:
        self.begun = True
        self._work()

    def _bound(self) -> list[str]:
        kind = self.attempt.settings.epoch_bound
        if kind is None:
            return []
        size = self.attempt.cluster.size(kind)
        names = [f"{kind}-{index}" for index in range(size)]
        return [name for name in names if name != self.pod.name]

    def _server(self, name: str) -> str:
        pod = self.world.named(self.attempt, name)
        return "" if pod is None or pod.stopping else pod.server_name

    def _work(self) -> None:
        if not self.alive or self.pod.gone:
            return
        for name in self._bound():
            self._met[name] = self._met.get(name) or self._server(name)
        if all(met and self._server(name) == met for name, met in self._met.items()):
            self.made += WORK
            if self.made >= self.attempt.total:
                self.world.script_is_done(self.attempt)
                self.end(exit_codes.DONE)
                return
        self.engine.soon(1.0, 3.0, self._work)


class FollowersScript(Child):
    """It works until the chief's has; then it ends by itself, or is ended."""

    def loaded(self) -> None:
        self.begun = True
        self._work()

    def _work(self) -> None:
        if not self.alive or self.pod.gone:
            return
        if self.world.scripts_end and self.pod.job.attempt.script_done:
            self.end(exit_codes.DONE)
            return
        self.engine.soon(1.0, 3.0, self._work)
