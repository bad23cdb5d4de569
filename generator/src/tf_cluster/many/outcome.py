"""What came of one file of many."""

from collections.abc import Mapping
from dataclasses import dataclass

from tf_cluster.check import Checked, check
from tf_cluster.exits import RefusedError
from tf_cluster.expand.expand import preset_name
from tf_cluster.expand.roles import PAGES
from tf_cluster.expand.values_file import values_text
from tf_cluster.files import beside, read_input, shown_name
from tf_cluster.findings.finding import Finding, Place
from tf_cluster.findings.formats import Unread
from tf_cluster.pointer import Pointer, value_at
from tf_cluster.yaml.reader import MAX_BYTES

NAME, NODE_PORT, VOLUME = "name", "port of the nodes", "PersistentVolume"


@dataclass(frozen=True)
class Taken:
    """A thing of which a namespace, or a cluster, has one, and where the file takes it."""

    kind: str
    value: str
    pointer: Pointer
    place: Place


@dataclass(frozen=True)
class Outcome:
    """A file as the user named it, what is wrong with it, and what was made of it.

    `unread` says why it could not be read. `takes` has what its right part takes. `values` is the
    text of its values file, which is made if it was asked for; empty for a file with errors. `raw`
    is what the file holds, if that was asked for.
    """

    file: str
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    unread: Unread | None = None
    takes: tuple[Taken, ...] = ()
    values: str = ""
    raw: bytes = b""

    @property
    def training(self) -> str:
        """The training's name; empty for a file without a right one."""
        return next((one.value for one in self.takes if one.kind == NAME), "")

    @property
    def name(self) -> str:
        """The file's name in findings."""
        return shown_name(self.file)


NO_OUTPUTS: Mapping[str, str] = {}


def outcome(
    file: str, *, outputs: Mapping[str, str] = NO_OUTPUTS, with_raw: bool = False
) -> Outcome:
    """Read and check a file. `outputs` names the values files to be made. Raises BugError."""
    try:
        raw = read_input(file, MAX_BYTES + 1)
    except RefusedError as refused:
        return Outcome(file, unread=Unread(shown_name(file), str(refused)))
    checked = check(shown_name(file), raw)
    values = ""
    if file in outputs and checked.good:
        preset = preset_name(checked.document.data)
        values = values_text(checked.values, file, preset, beside(file, outputs[file]))
    kept = raw if with_raw else b""
    return Outcome(
        file, checked.findings, checked.notes, takes=_taken(checked), values=values, raw=kept
    )


def _taken(checked: Checked) -> tuple[Taken, ...]:
    """What two files can't both take."""
    effective = checked.values.effective
    paths: list[tuple[str, Pointer]] = [(NAME, ("fullnameOverride",))]
    for page in PAGES:
        if value_at(effective, (page, "enabled")):
            paths.append((NODE_PORT, (page, "service", "nodePort")))
    for volume in ("log", "data"):
        claim = value_at(effective, ("storage", volume)) or {}
        if not claim.get("existingClaim") and claim.get("enabled") is not False:
            paths.append((VOLUME, ("storage", volume, "volumeName")))
    found = []
    for kind, path in paths:
        value = value_at(effective, path)
        if value:
            origin = checked.values.origin_of(path)
            place = checked.document.spot(origin).value
            found.append(Taken(kind, str(value), origin, place))
    return tuple(found)
