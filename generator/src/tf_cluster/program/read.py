"""The door of this room: reads the code of the program that a params file names."""

from pathlib import Path

from tf_cluster.params.beside import Given
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer
from tf_cluster.program.data_size import find_few_examples
from tf_cluster.program.reading import Reading

_MODULE: Pointer = ("program", "module")
_SCRIPT: Pointer = ("program", "script")


def read_program(params: Params, folder: Path | Given) -> Reading:
    """Findings and notes on the module or script that the params name.

    `folder` is that of the params file, or the files that are given instead. Nothing is imported or
    run, and nothing is read outside `folder` and the directories of this Python's packages.
    """
    module, script = params.value_at(_MODULE) or "", params.value_at(_SCRIPT) or ""
    reading = Reading(params)
    if bool(module) == bool(script):
        return reading
    if module:
        find_few_examples(reading, folder, module)
    # Only now: a file whose program is elsewhere needs none of it.
    from tf_cluster.program.locate import NotHere, code_of

    code = code_of(params, folder)
    if isinstance(code, NotHere):
        reading.unknown("the program", code.why)
        return reading
    try:
        if module:
            from tf_cluster.program.module_findings import find_in_module

            find_in_module(reading, code, module)
        else:
            from tf_cluster.program.script_findings import find_in_script

            find_in_script(reading, code, script)
    except RecursionError:
        reading.unknown("the program", "its code is nested too deeply")
    return reading
