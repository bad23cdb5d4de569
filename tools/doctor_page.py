"""docs/doctor.md: a section for each rule of `tf-cluster doctor`, made of the texts beside it.

    python -m tools.doctor_page           write the page
    python -m tools.doctor_page --check   write nothing; exit 1 when it would change

tests/generator/cluster/test_doctor_page.py holds the page to the rules.
"""

from __future__ import annotations

import sys
from textwrap import fill

from tf_cluster.cluster.doctor.finding import Rule
from tf_cluster.cluster.doctor.rules import RULES

from tools import ROOT
from tools.made_page import write_or_check

PAGE = ROOT / "docs" / "doctor.md"

_HEAD = """\
# Doctor

<!-- Made by `python -m tools.doctor_page` of the texts beside each rule. -->
"""
_WHAT = """
`tf-cluster doctor NAME` says why a training does not go on: what is wrong with which object, the
event or condition that shows it, and what mends it. NAME may be a server of models, too. Without
it it looks at all trainings and servers of the namespace, with `-A` at all there are. It changes
nothing, and reads what you may read: what that leaves out is said on stderr. Exit code 0: nothing
found; 1: findings; 2: it could not look.
"""
_EXAMPLE = """
```console
$ tf-cluster doctor digits
digits: TFD109: persistentvolumeclaim/nowhere: there is no claim nowhere in namespace vision
  seen: persistentvolumeclaim "nowhere" not found (since 2026-11-28 06:11:34Z)
  mend: create it, or name another in the params (data.claim, log.claim) and upgrade
```
"""
_FILE = """
Somebody without access can help: `tf-cluster doctor digits --save digits.snapshot.json` writes what
was looked at, and `tf-cluster doctor --from digits.snapshot.json` says the same of it elsewhere.
The file has statuses, events, names and the ends of logs. It has no Secret, ConfigMap, environment
or argument, and what looks like a password or a token in a log or an event is hidden. A program may
log secrets in a form that nobody can know, so look at it before you hand it on.
"""
_EVENTS = """
Kubernetes keeps events for about an hour. Conditions and exit codes stay as long as their object,
so most is found later, too; what only an event shows (TFD101 to TFD104, TFD110) is not.
"""
_PROVEN = """
Each code is seen on a recording of a cluster in which the failure was caused. A code may have
several causes, and these were not caused: a claim whose volume is gone (TFD108), a volume that is
attached elsewhere, which needs a storage driver that attaches, and a program for mounts that a node
lacks (TFD110), a name that is none of an image, which the chart refuses first (TFD111), a taint
that comes and a node that is removed (TFD117), a node that is short of disk (TFD121), scheduling
gates (TFD125). There the rules follow what Kubernetes writes by its source,
and have not been seen at work.
"""
NOT_SEEN: dict[str, str] = {}
"""By code: what could not be caused on a cluster of tests, and why."""


def page() -> str:
    """The page as it should be."""
    rows = "".join(f"| [{rule.code}](#{rule.code.lower()}) | {rule.about} |\n" for rule in RULES)
    words = "\n".join(map(_filled, (_FILE, _EVENTS, _PROVEN)))
    table = f"| code | means |\n|---|---|\n{rows}"
    return f"{_HEAD}\n{_filled(_WHAT)}{_EXAMPLE}\n{words}\n{table}{''.join(map(_section, RULES))}"


def _section(rule: Rule) -> str:
    title = f"{rule.about[0].upper()}{rule.about[1:]}."
    parts = [f"**{title}** {rule.why}", f"*Seen by:* {rule.evidence}", f"*Mend:* {rule.mend}"]
    if rule.code in NOT_SEEN:
        parts.append(f"*Not seen:* {NOT_SEEN[rule.code]}")
    return f"\n## {rule.code}\n\n" + "\n".join(map(_filled, parts))


def _filled(words: str) -> str:
    text = " ".join(words.split())
    return fill(text, 120, break_on_hyphens=False, break_long_words=False) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(PAGE, page()))
