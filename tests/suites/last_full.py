"""Which commit was the last to pass test-full: a small file that is committed.

`make test-full` writes it when all of it has passed on a clean tree; the commit that notes it
changes nothing else. `python -m tests.suites.last_full` prints what it says.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from tests.suites.suite import ROOT, Counts

FILE = Path(__file__).with_name("last-full")


@dataclass(frozen=True)
class Tree:
    """What is tested: a commit, and which files differ from it or are not in it."""

    commit: str
    changed: str

    @classmethod
    def of(cls, folder: Path = ROOT) -> Tree:
        """As git sees it; without a commit where git does not answer."""
        return cls(_git(folder, "rev-parse", "HEAD"), _git(folder, "status", "--porcelain"))

    @property
    def lacks(self) -> str:
        """What keeps a run on it from being noted; nothing when it can be."""
        if not self.commit:
            return "git names no commit here"
        return f"these files are not as in the commit:\n{self.changed}" if self.changed else ""


def told(file: Path = FILE, folder: Path = ROOT) -> str:
    """A line for the summary: which commit it was, when, how many commits came since."""
    if not file.exists():
        return "no commit is known to have passed test-full"
    commit, _, rest = file.read_text().strip().partition(" ")
    since = _git(folder, "rev-list", "--count", f"{commit}..HEAD")
    where = f"commits since: {since}" if since else "it is not in the history that is here"
    return f"the last commit to pass test-full: {commit[:12]} ({rest}); {where}"


def note(
    tested: Tree, counts: Counts, retried: int = 0, file: Path = FILE, folder: Path = ROOT
) -> str:
    """Write that all of it passed on that tree, if it is the same still; what to do with that.

    `retried` is how many of the cases had failed before they passed.
    """
    if tested.lacks:
        return f"not noted as the last full run: {tested.lacks}"
    if Tree.of(folder) != tested:
        return "not noted as the last full run: the tree was changed meanwhile"
    today = datetime.now(timezone.utc).date()
    words = [f"{tested.commit} {today}", f"{counts.passed} passed", f"{counts.skipped} skipped"]
    if retried:
        words.append(f"{retried} only when tried again")
    file.write_text(f"{', '.join(words)}\n")
    return f"noted; now: git commit -m 'Note that test-full passed' {file.relative_to(folder)}"


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ("git", *arguments), cwd=folder, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


if __name__ == "__main__":
    print(told())
