"""The tool's verbs for Python programs: bytes or text in, frozen results out, and no I/O."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tf_cluster.check import Checked, check
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.values_file import values_text
from tf_cluster.findings.finding import Finding, errors
from tf_cluster.params.beside import Given, Read, Text
from tf_cluster.planning.plan import Plan
from tf_cluster.planning.plan import plan as planned


@dataclass(frozen=True)
class Loaded:
    """A params file as read and checked.

    `findings` are all that is wrong, from top to bottom. `values` are those for the chart; without
    the values that are wrong, where some are. `notes` say what of the program's code was read, and
    what could not be known.
    """

    file: str
    findings: tuple[Finding, ...]
    values: Mapping[str, Any]
    notes: tuple[str, ...]
    _checked: Checked

    @property
    def good(self) -> bool:
        """Whether there are no errors; there may be warnings."""
        return not errors(self.findings)


class FindingsError(ValueError):
    """The params have errors, so there are no values. `findings` has them all."""

    def __init__(self, findings: tuple[Finding, ...]) -> None:
        self.findings = findings
        bad = errors(findings)
        first = bad[0]
        place = f"{first.file}:{first.place.line}:{first.place.column}"
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        super().__init__(f"{place}: {first.code}: {first.words}{more}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Made of its findings again, as in another process; an exception is of its words."""
        return type(self), (self.findings,)


def load(
    params: Text | Loaded,
    *,
    file: str = "params.yaml",
    read: Read | None = None,
    for_cluster: bool = True,
) -> Loaded:
    """Read and check a params file.

    `params` is its content; `file` its name in findings. `read` gives the files beside it: those of
    `program.source.files`, and the program's code. It maps relative names to texts, or is a
    function of a name that gives a text, or None where there is no such file. Without it there are
    none. `for_cluster` is False for a run on this machine, which needs no image, for one.
    """
    if isinstance(params, Loaded):
        return params
    raw = params.encode("utf-8", "surrogatepass") if isinstance(params, str) else params
    checked = check(file, raw, folder=Given(read or {}), for_cluster=for_cluster)
    return Loaded(
        file, checked.findings, copy.deepcopy(checked.values.data), checked.notes, checked
    )


def validate(
    params: Text | Loaded, *, file: str = "params.yaml", read: Read | None = None
) -> tuple[Finding, ...]:
    """All that is wrong with a params file, as the command `validate` finds it."""
    return load(params, file=file, read=read).findings


def generate(
    params: Text | Loaded,
    *,
    file: str = "params.yaml",
    read: Read | None = None,
    output: str = "",
) -> str:
    """The text of the values file, as the command `generate` writes it. Raises FindingsError.

    `output` is what that file is called in the folder of `file`: its first lines say how it is
    made.
    """
    loaded = load(params, file=file, read=read)
    if not loaded.good:
        raise FindingsError(loaded.findings)
    checked = loaded._checked
    preset = preset_name(checked.document.data)
    return values_text(checked.values, loaded.file, preset, output)


def plan(
    params: Text | Loaded,
    *,
    file: str = "params.yaml",
    read: Read | None = None,
    release: str | None = None,
    namespace: str = "default",
) -> Plan:
    """What the training will be in a cluster, as the command `plan` tells. Raises FindingsError."""
    loaded = load(params, file=file, read=read)
    if not loaded.good:
        raise FindingsError(loaded.findings)
    return planned(loaded._checked.values.effective, release=release, namespace=namespace)
