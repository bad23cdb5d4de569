"""Checks many files, each alone and then all together."""

from collections.abc import Mapping, Sequence
from functools import partial

from tf_cluster.many.across import with_rules_across
from tf_cluster.many.each import each
from tf_cluster.many.outcome import NO_OUTPUTS, Outcome, outcome


def check_files(
    files: Sequence[str], *, outputs: Mapping[str, str] = NO_OUTPUTS, with_raw: bool = False
) -> list[Outcome]:
    """What came of each file, in their order. A file that can't be read does not stop the others.

    `outputs` names the values files to be made. Raises BugError.
    """
    return with_rules_across(each(partial(outcome, outputs=outputs, with_raw=with_raw), files))
