"""The last words of a run: what came of it, where it is, and on failure why."""

import os
import sys

from tf_cluster.local.logs import tail
from tf_cluster.local.plan import Folders
from tf_cluster.local.progress import Progress
from tf_cluster.local.supervise import Ending


def tell_ending(ending: Ending, folders: Folders) -> bool:
    """Print the result (stdout) or the reason (stderr). Returns whether training is done."""
    logs = os.path.relpath(folders.logs)
    progress = ending.progress or Progress("unknown")
    sys.stdout.flush()
    if ending.kind == "done" and progress.status != "superseded":
        for line in _result(progress, folders, logs):
            print(line)
        sys.stdout.flush()
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
        last = tail(ending.culprit.log)
        if last:
            words.append(f"the last lines of {os.path.relpath(ending.culprit.log)}:")
            words += [f"  {line}" for line in last]
        words.append(f"all logs are in {logs}/")
    print("\n".join(words), file=sys.stderr, flush=True)
    return False


def _result(progress: Progress, folders: Folders, logs: str) -> list[str]:
    rows = [("name", f"{folders.name}, run {folders.run_id}")]
    if progress.step is not None:
        rows.append(("steps", f"{progress.step} of {progress.total}"))
    if progress.message and progress.steps_per_second is None:  # nothing was left to do
        rows.append(("message", progress.message))
    rows += [(name, _figure(value)) for name, value in progress.metrics.items()]
    if progress.export:
        rows.append(("export", os.path.relpath(progress.export)))
    rows.append(("run", f"{os.path.relpath(folders.run)}/"))
    rows.append(("logs", f"{logs}/"))
    width = max(len(name) for name, _ in rows)
    return [f"{name:<{width}}  {value}" for name, value in rows]


def _figure(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else str(value)
