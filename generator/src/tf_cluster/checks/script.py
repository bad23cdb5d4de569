"""Programs that are scripts (docs/trainer.md)."""

import re
from collections.abc import Iterator

from tf_cluster.checks.absent_roles import ABSENT_ROLE
from tf_cluster.expand.roles import absent_roles, has_evaluator
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params import spelling
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import TWO_FORMS
from tf_cluster.params.values import PRESET
from tf_cluster.params.wording import either
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

UNKNOWN_REFERENCE = Code(
    "TFC322",
    "an argument of the script uses a $(NAME) that is not there",
    why=(
        "Kubernetes leaves an unknown $(NAME) as it is, and the script gets these very characters."
    ),
    wrong="program: {script: /data/train.py, args: ['--ps=$(PS_HOST)']}",
    right="program: {script: /data/train.py, args: ['--ps=$(PS_HOSTS)']}",
)
NOT_FOR_SCRIPTS = Code(
    "TFC323",
    "a setting that a script does not read",
    why="A script trains by itself: nothing reads `train`, `flags` or `evaluator` for it.",
    wrong=("program: {script: /data/train.py}\ntrain: {steps: 2000}"),
    right="program: {script: /data/train.py, args: [--steps=2000]}",
)

VARIABLES = ("PS_HOSTS", "WORKER_HOSTS", "JOB_NAME", "TASK_INDEX", "DATA_DIR", "LOG_DIR")
"""Variables that a script gets beside TF_CONFIG; its arguments may use them as $(NAME)."""

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_SCRIPT: Pointer = ("program", "script")
_ARGS: Pointer = ("program", "args")
_ON_PS: Pointer = ("program", "ps")
_EVALUATOR: Pointer = ("evaluator", "enabled")
_MODULE: Pointer = ("program", "module")
_FOR_MODULES = ("train", "flags")


def check(params: Params) -> Iterator[Finding]:
    """Findings on a script's arguments and on settings that have no effect on a script."""
    script, module = params.value_at(_SCRIPT), params.value_at(_MODULE)
    if module:
        yield from _beside_a_module(params)
    if not script or module:
        return
    yield from _references(params)
    if params.value_at(_ON_PS) == "script" and "ps" in absent_roles(params.effective):
        where = params.origin_of(_ON_PS)
        message = f"{dotted(where)} is script, but {absent_roles(params.effective)['ps']}"
        fix = f"leave out {dotted(where)}"
        yield params.finding(where, ABSENT_ROLE, message, "script", fix)
    for key in _FOR_MODULES:
        said = [o for p, o in params.values.origins.items() if p[0] == key and o != PRESET]
        if said:
            place: Pointer = min(said, key=len)[: 2 if said[0][0] == "extraValues" else 1]
            message = f"{dotted(place)} is set, but a script has settings of its own"
            fix = f"leave out {dotted(place)}, and tell the script by program.args"
            value = params.written_at(place)
            yield params.finding(place, NOT_FOR_SCRIPTS, message, value, fix)
    if has_evaluator(params.effective):
        place = params.origin_of(_EVALUATOR)
        message = f"{dotted(place)}: a script has no evaluate to measure its checkpoints with"
        fix = f"leave out {dotted(place)}"
        yield params.finding(place, NOT_FOR_SCRIPTS, message, fix=fix)


def _beside_a_module(params: Params) -> Iterator[Finding]:
    """Settings of a script beside a module, which the params schema can't see in extraValues."""
    for path, default in ((_SCRIPT, ""), (_ARGS, []), (_ON_PS, "server")):
        value = params.value_at(path)
        if value is not None and value != default:
            where = params.origin_of(path)
            message = f"{dotted(where)} does not go with {dotted(params.origin_of(_MODULE))}"
            yield params.finding(where, TWO_FORMS, message, value, "keep one of them")


def _references(params: Params) -> Iterator[Finding]:
    for index, arg in enumerate(params.value_at(_ARGS) or []):
        end = arg.rfind(")") + 1  # beyond it, each $( would search to the end in vain
        for match in _REFERENCE.finditer(arg, 0, end):
            name = match[1]
            if name is None or name in VARIABLES:
                continue
            close = spelling.meant(name, VARIABLES)
            known = either(f"$({variable})" for variable in VARIABLES)
            name = cut(name)
            where = (*params.origin_of(_ARGS), index)
            message = f"$({name}) in {dotted(where)} is not known"
            meant = f"did you mean $({close})?" if close else f"known are {known}"
            fix = f"{meant}; $$({name}) is the text itself"
            yield params.finding(where, UNKNOWN_REFERENCE, message, match[0], fix)
