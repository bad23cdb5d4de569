"""The packet rules that kube-proxy, kube-router and the CNI plugins make, found and removed."""

from __future__ import annotations

import re

from .commands import run, succeeds, which

_CHAIN = re.compile(r"^:((?:KUBE-|CNI-)\S+) ")
_RULE = re.compile(r"^-A (?!KUBE-|CNI-).*(?:-[jg] (?:KUBE-|CNI-)|--comment \"KUBE-ROUTER )")
_SETS = re.compile(r"^(?:inet6:)?(?:KUBE-|kube-router-)")


def traces(saved: str) -> list[str]:
    """Kubernetes' chains, and its rules in other chains, in the output of iptables-save."""
    return [line for line in saved.splitlines() if _CHAIN.match(line) or _RULE.match(line)]


def removal(saved: str) -> str:
    """What iptables-restore --noflush has to read so that all of them are gone."""
    script: list[str] = []
    doomed: list[str] = []
    for line in saved.splitlines():
        if line.startswith("*"):
            script.append(line)
            doomed = []
        elif found := _CHAIN.match(line):
            doomed.append(found.group(1))
        elif _RULE.match(line):
            script.append("-D " + line[3:])
        elif line == "COMMIT":
            script += [f"-F {name}" for name in doomed]
            script += [f"-X {name}" for name in doomed]
            script.append(line)
    return "\n".join(script) + "\n"


def remaining() -> list[str]:
    """Chains, rules and sets that are there now, for the list of leftovers."""
    left = [f"packet rule {line}" for save in _families() for line in traces(run([save]))]
    return left + [f"ipset {name}" for name in _sets()]


def remove() -> None:
    """Take out every Kubernetes chain, the rules that lead there, and the sets they use."""
    for save in _families():
        saved = run([save])
        if traces(saved):
            restore = save.replace("-save", "-restore")
            run([restore, "--noflush"], stdin=removal(saved), what="removing packet rules")
    for name in _sets():
        succeeds(["ipset", "flush", name])
    for name in _sets():
        succeeds(["ipset", "destroy", name])


def _families() -> list[str]:
    return [
        name for name in ("iptables-save", "ip6tables-save") if which(name) and succeeds([name])
    ]


def _sets() -> list[str]:
    listed = run(["ipset", "list", "-n"]) if which("ipset") else ""
    return [name for name in listed.split() if _SETS.match(name)]
