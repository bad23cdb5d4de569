"""Whether strategy, replication and update name one of the five combinations."""

from collections.abc import Iterator

from tf_cluster.expand.roles import is_combination, only_choice
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import dotted

NO_COMBINATION = Code(
    "TFC303",
    "strategy, replication and update do not go together",
    why=(
        "There is no such way to train: with all-reduce, for one, every step is made by all "
        "workers together."
    ),
    wrong=("strategy: all-reduce\nupdate: async"),
    right="strategy: all-reduce",
)

METHOD = ("strategy", "replication", "update")
"""The keys that name a combination."""


def check(params: Params) -> Iterator[Finding]:
    """A finding if they name none. Nulls are left to the check `nulls`."""
    chosen = [params.effective.get(key) for key in METHOD]
    if is_combination(*chosen) or None in chosen:
        return
    only = only_choice(chosen[0])
    odd = [key for key in only if params.effective.get(key) != only[key]]
    places = [params.origin_of((key,)) for key in odd]
    message = f"{' / '.join(map(str, chosen))} do not go together"
    words = " and ".join(only.values())
    fix = f"leave out {' and '.join(map(dotted, places))}: {chosen[0]} is {words}"
    yield params.finding(places[0], NO_COMBINATION, message, params.effective[odd[0]], fix)
