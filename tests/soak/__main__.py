"""`make soak`: one training after another, each loses tasks at random until it ends.

Real processes on this machine, in any of the five combinations. A loss is a child that is killed,
a whole task that is killed, or one that is asked to end, in any order, with one checkpoint between
two losses. A run that was stopped, since its client was asked to end, is started again. The seed is
printed; the same seed makes the same choices. Exit 0 when no training hung, failed or ended at a
wrong step.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.generator.local.combinations import COMBINATIONS, Combination, last_steps, params
from tests.generator.local.local_run import LocalRunInTest
from tests.generator.local.real_run import calls_retried, child_of, progress, supervisor_of

STEPS = 4000
HANG_SECONDS = 240.0
LOSSES = 6
ASKED = "task asked to end"
STOPPED = "stopped"
CALLS = (3, 30, 90)  # steps a call, where calls can be made again: they say how far a run may go


def main() -> int:
    """Soak for so many minutes."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = parser.parse_args()
    print(f"seed {options.seed}, {options.minutes:g} minutes", flush=True)
    chance = random.Random(options.seed)
    until = time.monotonic() + 60 * options.minutes
    verdicts: list[str] = []
    while time.monotonic() < until:
        name = chance.choice(sorted(COMBINATIONS))
        with tempfile.TemporaryDirectory(prefix="tf-cluster-soak-") as folder:
            verdicts.append(_train(Path(folder), name, COMBINATIONS[name], chance))
    wrong = [verdict for verdict in verdicts if verdict != "ok"]
    print(f"{len(verdicts)} trainings, {len(wrong)} not ok", flush=True)
    return 1 if wrong else 0


def _train(folder: Path, name: str, combination: Combination, chance: random.Random) -> str:
    """Run one training through its losses; "ok" or what is wrong with its end."""
    per_call = chance.choice(CALLS)
    calls = per_call if "async" in name else None
    (folder / "params.yaml").write_text(params(combination, "soak", STEPS, per_call=calls))
    started = time.monotonic()
    run = LocalRunInTest(folder, trainer=None)
    lost: list[str] = []
    losses = chance.randint(1, LOSSES)
    try:
        while True:
            losses = _lose_tasks(run, combination, chance, losses, lost)
            verdict = _verdict(run, name, per_call, started)
            if verdict != STOPPED or not lost or lost[-1] != f"{combination.client} ({ASKED})":
                break
            run = LocalRunInTest(folder, trainer=None)
    finally:
        run.end()
    seconds = time.monotonic() - started
    print(f"{name}: {verdict}, {seconds:.0f} s, lost {', '.join(lost) or 'nothing'}", flush=True)
    if verdict != "ok":
        print(run.stderr[-4000:], flush=True)
        for log in sorted(folder.glob("runs/soak/logs/*.log")):
            print(f"--- {log.name}\n{log.read_text(errors='replace')[-3000:]}", flush=True)
    return verdict


def _lose_tasks(
    run: LocalRunInTest,
    combination: Combination,
    chance: random.Random,
    losses: int,
    lost: list[str],
) -> int:
    """Lose so many; how many are left when a stop of the whole run comes first."""
    saved = int(progress(run, "soak").get("checkpointStep") or 0)
    while losses > 0:
        losses -= 1
        task = chance.choice(combination.tasks)
        how = chance.choice(("child killed", "task killed", ASKED))
        pause = chance.uniform(0, 4)
        saved = _wait_for_checkpoint(run, saved)
        time.sleep(pause)
        if run.process.poll() is not None:
            return 0
        try:
            if how == "child killed":
                os.kill(child_of(run, task, "soak"), signal.SIGKILL)
            else:
                number = signal.SIGKILL if how == "task killed" else signal.SIGTERM
                os.kill(supervisor_of(run, task, "soak"), number)
        except (AssertionError, ProcessLookupError):
            continue  # it is between two starts
        lost.append(f"{task} ({how})")
        if (task, how) == (combination.client, ASKED):
            return losses
    return 0


def _wait_for_checkpoint(run: LocalRunInTest, beyond: int) -> int:
    """The step of a newer checkpoint; the last one when none comes before the end or in time."""
    deadline = time.monotonic() + HANG_SECONDS
    while run.process.poll() is None and time.monotonic() < deadline:
        step = int(progress(run, "soak").get("checkpointStep") or 0)
        if step > beyond:
            return step
        time.sleep(0.1)
    return beyond


def _verdict(run: LocalRunInTest, name: str, per_call: int, started: float) -> str:
    try:
        code = run.wait(HANG_SECONDS)
    except AssertionError:
        return f"hangs, {time.monotonic() - started:.0f} s after its start"
    if code == 143:
        return STOPPED
    document = progress(run, "soak")
    step = document.get("step", 0)
    retried = calls_retried(run, "soak")
    allowed = last_steps(name, STEPS, per_call=per_call, retried=retried)
    if code != 0 or document.get("status") != "done":
        return f"exit code {code}, status {document.get('status')}"
    if step not in allowed:
        return f"ended at step {step} of {STEPS}, {retried} calls of {per_call} were made again"
    if document["metrics"]["accuracy"] < 0.95:
        return f"accuracy {document['metrics']['accuracy']}"
    return f"left processes {run.processes()}" if run.processes() else "ok"


if __name__ == "__main__":
    sys.exit(main())
