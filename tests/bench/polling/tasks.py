"""Many tasks in one process: the real poll of the chief and the real status port of each.

    python -m tests.bench.polling.tasks CONFIG KIND FIRST COUNT

It prints, once a second, how many answers of the chief all of them have had.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from dataclasses import replace

from tf_cluster_trainer.config import Config, load
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.peers.chief_poll import ChiefPoll
from tf_cluster_trainer.supervisor.rules.events import ChiefSeen
from tf_cluster_trainer.supervisor.status.report import first_document
from tf_cluster_trainer.supervisor.status.server import Board, Condition, StatusServer
from tf_cluster_trainer.supervisor.timing import Timing


class Port(StatusServer):
    """The real status port, which does not look ten times a second whether it shall close."""

    def serve_forever(self, poll_interval: float = 0.0) -> None:
        """Serve until the process ends."""
        super().serve_forever(3600.0)


class Polling:
    """One task that serves, adopts the chief's epoch and asks the chief as a follower does."""

    def __init__(self, config: Config) -> None:
        inbox = Inbox()
        self._poll = ChiefPoll(config, inbox, Timing())
        self._document = first_document(config)
        self._board = Board(config.task, self._document, self._adopt, on_news=self._poll.now)
        self._adopt("", "")
        self._server = Port(config, self._board)
        self.answers = 0
        threading.Thread(target=self._count, args=(inbox,), daemon=True).start()
        self._poll.begin()

    def _adopt(self, attempt: str, epoch: str) -> None:
        self._board.show(self._document, Condition(True, epoch, 0))

    def _count(self, inbox: Inbox) -> None:
        while True:
            event = inbox.next(60)
            if isinstance(event, ChiefSeen) and not event.from_file and event.document:
                self.answers += 1


def main() -> None:
    """Poll until killed."""
    place, kind, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    environment = {
        **os.environ,
        "TF_CLUSTER_CONFIG": place,
        "TF_CLUSTER_TASK_TYPE": kind,
        "TF_CLUSTER_TASK_INDEX": "0",
        "TF_CLUSTER_JOB_UID": "wj" if kind == "worker" else "",
        "TF_CLUSTER_POD_UID": "pod",
    }
    config = load(environment)
    tasks = []
    for index in range(first, first + count):
        own = replace(config.task, index=index, pod_uid=f"pod-{kind}-{index}")
        tasks.append(Polling(replace(config, task=own)))
        time.sleep(5 / count)  # as pods come: not all in one moment
    while True:
        print(sum(task.answers for task in tasks), flush=True)
        time.sleep(1)


if __name__ == "__main__":
    main()
