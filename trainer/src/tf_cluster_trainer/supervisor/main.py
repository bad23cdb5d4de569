"""`tf-trainer`: the entrypoint of every pod and of every local task."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import CODE_VARIABLE, Cluster, Config, ConfigError, Settings, load
from tf_cluster_trainer.script_start import script_start
from tf_cluster_trainer.sources.errors import SourceError, StoppedError, UnreachableError
from tf_cluster_trainer.sources.limits import REAL_LIMITS, Limits
from tf_cluster_trainer.sources.login import DEFAULT_LOGIN_DIRECTORY, LOGIN_VARIABLE
from tf_cluster_trainer.supervisor.inbox import Inbox
from tf_cluster_trainer.supervisor.log import Log, log_of, severity_of, text_log_of
from tf_cluster_trainer.supervisor.process.die_with_parent import signal_on_parent_death
from tf_cluster_trainer.supervisor.roles.chief import Chief
from tf_cluster_trainer.supervisor.roles.follower import Follower
from tf_cluster_trainer.supervisor.rules.events import StopAsked
from tf_cluster_trainer.supervisor.status.document import FAILED, STOPPED, Outcome
from tf_cluster_trainer.supervisor.status.server import PortTakenError
from tf_cluster_trainer.supervisor.timing import Timing

# -P keeps the caller's directory off the import path from the first import on; before Python 3.11
# the child does it itself, after the few imports of its package.
SAFE_PATH = ("-P",) if sys.version_info >= (3, 11) else ()
CHILD_COMMAND = (sys.executable, *SAFE_PATH, "-m", "tf_cluster_trainer.child")
REAL_TIMING = Timing()
DIE_WITH_PARENT = "TF_CLUSTER_DIE_WITH_PARENT"


USAGE = """\
usage: tf-trainer
       tf-trainer inspect MODULE:CLASS [-o program.json]
       tf-trainer prune-runs [--log DIR] list | remove --run JSON…
       tf-trainer check-exports DIRECTORY [--version N]
       tf-trainer publish-export FROM TO [--version N]
       tf-trainer ask-serving --grpc HOST:PORT --rest URL --model NAME --version N --export DIR

Without arguments it runs one task, as the files and variables say that the chart or
`tf-cluster run` makes (docs/formats.md). `tf-trainer COMMAND --help` tells of the others.
"""


def main() -> None:
    """Supervise this environment's task with the real child, and exit with its code.

    With the argument `inspect`: look at a program instead (inspect_program.py). With `prune-runs`:
    at a log volume (pruning/). With `check-exports` or `publish-export`: at exports, and with
    `ask-serving`: at a model server (serving/).
    """
    if sys.argv[1:2] in (["--help"], ["-h"]):
        print(USAGE, end="")
        sys.exit(0)
    if sys.argv[1:2] == ["prune-runs"]:
        from tf_cluster_trainer.pruning import main as pruning

        sys.exit(pruning.main(sys.argv[2:]))
    if sys.argv[1:2] in (["check-exports"], ["publish-export"]):
        from tf_cluster_trainer.serving import main as serving

        work = serving.check_exports if sys.argv[1] == "check-exports" else serving.publish_export
        sys.exit(work(sys.argv[2:]))
    if sys.argv[1:2] == ["ask-serving"]:
        from tf_cluster_trainer.serving import ask

        sys.exit(ask.main(sys.argv[2:]))
    if sys.argv[1:] and sys.argv[1] != "inspect":
        print(f"tf-trainer: there is no command {sys.argv[1]!r}\n{USAGE}", end="", file=sys.stderr)
        sys.exit(exit_codes.CONFIG)
    if sys.argv[1:]:
        from tf_cluster_trainer import inspect_program  # a person's command: no task needs it

        sys.exit(inspect_program.main(sys.argv[2:]))
    sys.exit(supervise(os.environ, CHILD_COMMAND))


def supervise(
    environment: Mapping[str, str],
    command: Sequence[str],
    timing: Timing = REAL_TIMING,
    limits: Limits = REAL_LIMITS,
) -> int:
    """Run one task to its end in the main thread; return its exit code (docs/formats.md)."""
    inbox = Inbox()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: inbox.put(StopAsked()))
    try:
        log = log_of(environment)
    except ConfigError as error:
        log = text_log_of(environment)
        return _ended(log, Outcome(exit_codes.CONFIG, FAILED, str(error)))
    log.catch_errors()
    if not _parent_is_alive(environment.get(DIE_WITH_PARENT, "")):
        log.write("the process that started this one is gone: ending")
        return exit_codes.STOPPED
    try:
        config = checked(load(environment))
        log.know(config)
        source = config.settings.source
        if source is None or not config.runs_user_code:
            return _run(config, command, environment, inbox, log, timing)
        from tf_cluster_trainer.sources.code import fetched  # what speaks HTTP: a tenth of a second

        def asked() -> bool:
            return isinstance(inbox.next(0), StopAsked)  # nothing else can come yet

        logins = Path(environment.get(LOGIN_VARIABLE, DEFAULT_LOGIN_DIRECTORY))
        with fetched(source, log.write, asked, limits, logins) as code:
            environment = {**environment, CODE_VARIABLE: str(code)}
            return _run(load(environment), command, environment, inbox, log, timing)
    except (ConfigError, PortTakenError, SourceError) as error:
        outcome = Outcome(exit_codes.CONFIG, FAILED, str(error))
    except UnreachableError as error:
        outcome = Outcome(exit_codes.FAILED, FAILED, str(error))
    except StoppedError:
        outcome = Outcome(exit_codes.STOPPED, STOPPED, "stopped by SIGTERM")
    return _ended(log, outcome)


def _ended(log: Log, outcome: Outcome) -> int:
    """Log an end that came before the task's own work; return its exit code."""
    log.write(f"{outcome.message}\n{outcome.last_line}", severity_of(outcome))
    return outcome.exit_code


def _run(
    config: Config,
    command: Sequence[str],
    environment: Mapping[str, str],
    inbox: Inbox,
    log: Log,
    timing: Timing,
) -> int:
    if config.runs_script:
        script_start(config, environment)  # reports its errors before any wait
    supervisor = Chief if config.is_chief else Follower
    return supervisor(config, command, environment, inbox, log, timing).run()


def _parent_is_alive(parent: str) -> bool:
    """Whether the parent lives; if asked for, have the kernel end this process with it.

    If `parent` is a pid, this also detects a parent that ended before this check.
    """
    if not parent:
        return True
    return signal_on_parent_death(signal.SIGTERM, os.getppid() if parent == "1" else int(parent))


def checked(config: Config) -> Config:
    """Check what the schema can't express. Raises ConfigError."""
    task = config.task
    if not task.pod_uid:
        raise ConfigError("TF_CLUSTER_POD_UID is empty: an id that no other process has is needed")
    if not task.job_uid and task.type != "ps":
        raise ConfigError("TF_CLUSTER_JOB_UID is empty: the id of this task's Job is needed")
    if config.evaluates and config.settings.script:
        raise ConfigError(
            "training.json: /program/script: an evaluator measures with a program's `evaluate`, "
            "which a script does not have"
        )
    _check_shape(config.cluster, config.settings)
    optimizer = config.settings.optimizer
    if optimizer.momentum is not None and optimizer.name != "Momentum":
        raise ConfigError(
            f"training.json: /train/optimizer/momentum is {optimizer.momentum}, but the optimizer "
            f"is {optimizer.name}: only Momentum has it"
        )
    return config


def _check_shape(cluster: Cluster, settings: Settings) -> None:
    """Check that the cluster's tasks fit the combination. Raises ConfigError."""
    row = settings.combination
    chiefs, workers, ps = (cluster.size(kind) for kind in ("chief", "worker", "ps"))
    if settings.interactive and not row.has_chief:
        raise ConfigError(
            f"training.json: /program/interactive: a client drives ps and workers in-graph, "
            f"not {row.replication}"
        )
    if settings.interactive and chiefs:
        raise ConfigError("cluster.json: /cluster/chief: an interactive cluster has no chief")
    if row.has_chief and chiefs != 1 and not settings.interactive:
        raise ConfigError(
            f"cluster.json: /cluster/chief: {row.replication} needs exactly one chief, not {chiefs}"
        )
    if chiefs and not row.has_chief:
        raise ConfigError(
            f"cluster.json: /cluster/chief: {row.replication} has no chief, worker 0 is the chief"
        )
    if not workers:
        raise ConfigError("cluster.json: /cluster/worker: at least one worker is needed")
    if ps and not row.has_ps:
        raise ConfigError(f"cluster.json: /cluster/ps: {row.strategy} has no ps")
    if row.has_ps and not ps:
        raise ConfigError(f"cluster.json: /cluster/ps: {row.strategy} needs at least one ps")
