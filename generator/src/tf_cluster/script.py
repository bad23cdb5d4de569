"""What has to be right about a program that is a script (docs/trainer.md)."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster import codes
from tf_cluster.expand import Values
from tf_cluster.findings.finding import Finding
from tf_cluster.phrases import either
from tf_cluster.placing import finding_at, written
from tf_cluster.pointer import Pointer, dotted, value_at
from tf_cluster.printable import cut
from tf_cluster.roles import absent_roles, has_evaluator
from tf_cluster.spelling import close_to
from tf_cluster.yaml.document import Document

VARIABLES = ("PS_HOSTS", "WORKER_HOSTS", "JOB_NAME", "TASK_INDEX", "DATA_DIR", "LOG_DIR")
"""What a script is told by, beside TF_CONFIG; its arguments may use them as $(NAME)."""

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_SCRIPT: Pointer = ("program", "script")
_ARGS: Pointer = ("program", "args")
_ON_PS: Pointer = ("program", "ps")
_EVALUATOR: Pointer = ("evaluator", "enabled")
_MODULE: Pointer = ("program", "module")
_FOR_MODULES = ("train", "flags")


def script_rules(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    """Findings on a script's arguments, and on settings that it would not read."""
    script, module = value_at(effective, _SCRIPT), value_at(effective, _MODULE)
    if module:
        yield from _beside_a_module(document, values, effective)
    if not script or module:
        return
    yield from _references(document, values, effective)
    if value_at(effective, _ON_PS) == "script" and "ps" in absent_roles(effective):
        where = written(values, _ON_PS)
        message = f"{dotted(where)} is script, but {absent_roles(effective)['ps']}"
        fix = f"leave out {dotted(where)}"
        yield finding_at(document, where, codes.ABSENT_ROLE, message, "script", fix)
    for key in _FOR_MODULES:
        said = [o for p, o in values.origins.items() if p[0] == key and o != ("preset",)]
        if said:
            place: Pointer = min(said, key=len)[: 2 if said[0][0] == "extraValues" else 1]
            message = f"{dotted(place)} is set, but a script has settings of its own"
            fix = f"leave out {dotted(place)}, and tell the script by program.args"
            value = value_at(document.data, place)
            yield finding_at(document, place, codes.NOT_FOR_SCRIPTS, message, value, fix)
    if has_evaluator(effective):
        place = written(values, _EVALUATOR)
        message = f"{dotted(place)}: a script has no evaluate to measure its checkpoints with"
        fix = f"leave out {dotted(place)}"
        yield finding_at(document, place, codes.NOT_FOR_SCRIPTS, message, fix=fix)


def _beside_a_module(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    """What extraValues can set, and the schema of params files does not let through."""
    for path, default in ((_SCRIPT, ""), (_ARGS, []), (_ON_PS, "server")):
        value = value_at(effective, path)
        if value is not None and value != default:
            where = written(values, path)
            message = f"{dotted(where)} does not go with {dotted(written(values, _MODULE))}"
            yield finding_at(document, where, codes.TWO_FORMS, message, value, "keep one of them")


def _references(
    document: Document, values: Values, effective: Mapping[str, Any]
) -> Iterator[Finding]:
    for index, arg in enumerate(value_at(effective, _ARGS) or []):
        end = arg.rfind(")") + 1  # behind it a search would go to the end from each $(
        for match in _REFERENCE.finditer(arg, 0, end):
            name = match[1]
            if name is None or name in VARIABLES:
                continue
            close = close_to(name, VARIABLES)
            known = either(f"$({variable})" for variable in VARIABLES)
            name = cut(name)
            where = (*written(values, _ARGS), index)
            message = f"$({name}) in {dotted(where)} is not known"
            meant = f"did you mean $({close})?" if close else f"known are {known}"
            fix = f"{meant}; $$({name}) is the text itself"
            yield finding_at(document, where, codes.UNKNOWN_REFERENCE, message, match[0], fix)
