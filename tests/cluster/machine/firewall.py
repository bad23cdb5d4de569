"""The packet rules that kube-proxy, kube-router and the CNI plugins make, found and removed."""

from __future__ import annotations

import re

from .commands import run, succeeds

_CHAIN = re.compile(r"^:((?:KUBE-|CNI-)\S+) ")
_OURS_IN_OTHERS = re.compile(r"(?:-j|-g) (?:KUBE-|CNI-)\S+|kube-router|ACCEPT that comply to netw")
_SETS = re.compile(r"^(?:inet6:)?(?:KUBE-|kube-router-)")


def chains(saved: str) -> list[str]:
    """Names of the Kubernetes chains in the output of iptables-save."""
    return [found.group(1) for line in saved.splitlines() if (found := _CHAIN.match(line))]


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
        elif line.startswith("-A ") and _is_jump_into(line):
            script.append("-D " + line[3:])
        elif line == "COMMIT":
            script += [f"-F {name}" for name in doomed]
            script += [f"-X {name}" for name in doomed]
            script.append(line)
    return "\n".join(script) + "\n"


def _is_jump_into(rule: str) -> bool:
    owner = rule.split()[1]
    return not owner.startswith(("KUBE-", "CNI-")) and bool(_OURS_IN_OTHERS.search(rule))


def remaining() -> list[str]:
    """Chains and sets that are there now, for the list of leftovers."""
    left = [f"chain {name}" for save in _families() for name in chains(run([save]))]
    return left + [f"ipset {name}" for name in _sets()]


def remove() -> None:
    """Take out every Kubernetes chain, the rules that lead there, and the sets they use."""
    for save in _families():
        saved = run([save])
        if chains(saved):
            restore = save.replace("-save", "-restore")
            run([restore, "--noflush"], stdin=removal(saved), what="removing packet rules")
    for name in _sets():
        succeeds(["ipset", "flush", name])
    for name in _sets():
        succeeds(["ipset", "destroy", name])


def _families() -> list[str]:
    return [name for name in ("iptables-save", "ip6tables-save") if succeeds([name])]


def _sets() -> list[str]:
    return [name for name in run(["ipset", "list", "-n"]).split() if _SETS.match(name)]
