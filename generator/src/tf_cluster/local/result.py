"""The last lines of a run: the result and where it is, or why it failed."""

import json
import os
import re
import sys
from pathlib import Path

from tf_cluster.local.folders import Folders
from tf_cluster.local.logs import tail
from tf_cluster.local.supervise import Ending
from tf_cluster.progress.document import Progress


def tell_ending(ending: Ending, folders: Folders) -> bool:
    """Print the result (stdout) or the reason (stderr). Returns whether training is done."""
    logs = os.path.relpath(folders.logs)
    progress = ending.progress or Progress("unknown")
    sys.stdout.flush()
    if ending.kind == "done" and progress.status != "superseded":
        for line in _result(progress, folders, logs):
            print(line)
        sys.stdout.flush()
        if ending.evaluator is not None:
            print("\n".join(_unevaluated(ending, folders)), file=sys.stderr, flush=True)
        return True
    words = [f"{folders.name}: {ending.kind}: {ending.words}"]
    if ending.kind == "done":
        words = [f"{folders.name}: another attempt has taken this run over: {progress.message}"]
    elif ending.kind == "stopped":
        step = f" at step {progress.step}" if progress.step is not None else ""
        words = [
            f"{folders.name}: stopped{step}: {ending.words}. The same command goes on from there."
        ]
    elif ending.culprit is not None:
        if progress.status == "failed" and progress.message:
            words.append(progress.message)
        for log in _logs_of(ending.culprit.log, progress.message):
            words += _last_lines(log)
        words.append(f"all logs are in {logs}/")
    print("\n".join(words), file=sys.stderr, flush=True)
    return False


def _unevaluated(ending: Ending, folders: Folders) -> list[str]:
    """Lines that say that the training is done, but not its evaluation."""
    assert ending.evaluator is not None
    name = ending.evaluator.task.name
    return [
        f"{folders.name}: the training is done, but {name} {ending.evaluator_words}: "
        "not every checkpoint is evaluated. The same command evaluates what is left.",
        *_last_lines(ending.evaluator.log),
    ]


def _logs_of(culprit: Path, message: str) -> list[Path]:
    """The log of the task that ended the run; before it, that of the task which it blames."""
    blamed = re.match(r"([a-z]+-\d+) failed: ", message)
    log = culprit.with_name(f"{blamed[1]}.log") if blamed else culprit
    return [log] if log == culprit else [log, culprit]


def _last_lines(log: Path) -> list[str]:
    last = tail(log)
    if not last:
        return []
    return [f"the last lines of {os.path.relpath(log)}:", *(f"  {line}" for line in last)]


def _result(progress: Progress, folders: Folders, logs: str) -> list[str]:
    rows = [("name", f"{folders.name}, run {folders.run_id}")]
    if progress.step is not None:
        rows.append(("steps", f"{progress.step} of {progress.total}"))
    if progress.message and progress.steps_per_second is None:  # nothing was left to do
        rows.append(("message", progress.message))
    rows += [(name, _figure(value)) for name, value in progress.metrics.items()]
    if progress.export:
        rows.append(("export", os.path.relpath(progress.export)))
    rows += _best(folders)
    rows.append(("run", f"{os.path.relpath(folders.run)}/"))
    rows.append(("logs", f"{logs}/"))
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _best(folders: Folders) -> list[tuple[str, str]]:
    """The evaluator's best checkpoint, if it was asked to export one."""
    try:
        best = json.loads((folders.run / "evaluations.json").read_bytes())["best"]
        if best is None:
            return []
        words = f"{best['metric']} {_figure(best['value'])} at step {best['step']}"
        return [("best", f"{words}, {os.path.relpath(best['export'])}")]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _figure(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
