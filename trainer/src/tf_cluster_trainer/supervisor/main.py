"""`tf-trainer`: the entrypoint of every pod and of every local task."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from .. import exit_codes
from ..config import Config, ConfigError, load
from .chief import Chief
from .document import FAILED, Outcome
from .events import Inbox, StopAsked
from .log import Log
from .server_task import ServerTask
from .status_server import PortTakenError
from .tied import tie
from .timing import Timing

# -P keeps the caller's directory off the import path from the first import on; before Python 3.11
# the child does it itself, after the few imports of its package.
SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()
CHILD_COMMAND = (sys.executable, *SAFE_PATH, "-m", "tf_cluster_trainer.child")
REAL_TIMING = Timing()
BUILT = (("parameter-server", "in-graph", "async"), ("parameter-server", "in-graph", "sync"))
DIE_WITH_PARENT = "TF_CLUSTER_DIE_WITH_PARENT"


def main() -> None:
    """Supervise this environment's task with the real child, and exit with its code."""
    sys.exit(supervise(os.environ, CHILD_COMMAND))


def supervise(
    environment: Mapping[str, str],
    command: Sequence[str],
    timing: Timing = REAL_TIMING,
) -> int:
    """Run one task to its end in the main thread; the exit code is docs/formats.md's."""
    inbox = Inbox()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: inbox.put(StopAsked()))
    kind = environment.get("TF_CLUSTER_TASK_TYPE", "task")
    index = environment.get("TF_CLUSTER_TASK_INDEX", environment.get("JOB_COMPLETION_INDEX", "0"))
    log = Log(f"{kind}-{index}")
    if not _tied(environment.get(DIE_WITH_PARENT, "")):
        log.say("the process that started this one is gone: ending")
        return exit_codes.STOPPED
    try:
        config = _checked(load(environment))
        if config.task.type == "chief":
            return Chief(config, command, environment, inbox, log, timing).run()
        return ServerTask(config, command, environment, inbox, log, timing).run()
    except (ConfigError, PortTakenError) as error:
        outcome = Outcome(exit_codes.CONFIG, FAILED, str(error))
        log.say(f"{error}\n{outcome.last_line}")
        return outcome.exit_code


def _tied(parent: str) -> bool:
    """Whether all is well with the parent, after a tie to it if one is asked for.

    Given as a pid, a parent that ended before this process could look is noticed too.
    """
    if not parent:
        return True
    return tie(signal.SIGTERM, os.getppid() if parent == "1" else int(parent))


def _checked(config: Config) -> Config:
    """What the schema can't say."""
    task = config.task
    if config.cluster.size("chief") != 1:
        raise ConfigError("cluster.json: /cluster/chief: exactly one chief is needed")
    if not task.pod_uid:
        raise ConfigError("TF_CLUSTER_POD_UID is empty: an id that no other process has is needed")
    if not task.job_uid and task.type != "ps":
        raise ConfigError("TF_CLUSTER_JOB_UID is empty: the id of this task's Job is needed")
    settings = config.settings
    words = (settings.strategy, settings.replication, settings.update)
    if words not in BUILT:
        raise ConfigError(
            f"training.json: /strategy, /replication, /update: {'/'.join(words)} is not built yet; "
            f"built are {' and '.join('/'.join(built) for built in BUILT)}"
        )
    optimizer = settings.optimizer
    if optimizer.momentum is not None and optimizer.name != "Momentum":
        raise ConfigError(
            f"training.json: /train/optimizer/momentum is {optimizer.momentum}, but the optimizer "
            f"is {optimizer.name}: only Momentum has it"
        )
    return config
