"""Findings that modules and scripts have in common."""

from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer
from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.codes import CODE_NOT_THERE, NOT_IN_IMAGE, NOT_PYTHON
from tf_cluster.program.image_imports import IMAGE_NAME, changes_path, not_in_image
from tf_cluster.program.missing_imports import missing_imports
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.reading import Reading
from tf_cluster.program.resolve import Code
from tf_cluster.program.roots import Root
from tf_cluster.program.scope import Module

_REPOSITORY: Pointer = ("image", "repository")
_FIX = "build an image with it: docs/images.md"


def use_root(reading: Reading, code: Code, root: Root) -> None:
    """From now on findings are about the code of this directory."""
    reading.severity = "error" if root.certain else "warning"


def parse_finding(reading: Reading, where: Pointer, file: CodePlace, wrong: NotParsed) -> None:
    """A finding on code that no Python reads; a note on code that another one may."""
    line = CodePlace(file.rpartition(":")[0], file.path, wrong.place.line)
    place = f"{line}:{wrong.place.column}"
    if wrong.certain:
        reading.add(where, NOT_PYTHON, f"{place}: {wrong.why}", at=line)
    else:
        reading.unknown("the program", f"{place}: {wrong.why}")


def _elsewhere(params: Params, module: Module) -> str:
    """Why modules may come from directories that were not looked at; empty if none do."""
    path = params.value_at(("program", "path")) or ""
    if path.startswith("/"):
        return f"others may lie in {path}"
    change = changes_path(module)
    if change:
        return f"{change}: the directories of modules are changed"
    for section in params.effective.values():
        variables = (section.get("extraEnv") or ()) if isinstance(section, dict) else ()
        if any(one.get("name") == "PYTHONPATH" for one in variables):
            return "extraEnv sets PYTHONPATH"
    return ""


def imports_findings(reading: Reading, code: Code, module: Module, where: Pointer) -> None:
    """Findings on imports: modules that were forgotten, and what the image lacks.

    The latter are warnings, if the image is one of ours by its name.
    """
    params = reading.params
    for name, place in missing_imports(code, module):
        package = name.partition(".")[0]
        message = f"there is no module {name}, which {place} imports: package {package} has none"
        fix = "add its file to program.source.files"
        reading.add(where, CODE_NOT_THERE, message, fix=fix, at=place)
    repository = params.value_at(_REPOSITORY) or ""
    if not params.for_cluster or not repository:
        return
    if repository.rpartition("/")[2] != IMAGE_NAME:
        reading.unknown("imports", f"image {repository} may have any package")
        return
    elsewhere = _elsewhere(params, module)
    if elsewhere:
        reading.unknown("imports", elsewhere)
        return
    severity, reading.severity = reading.severity, "warning"
    for name, place in not_in_image(code, module):
        message = f"the trainer's image has no {name}, which {place} imports"
        reading.add(where, NOT_IN_IMAGE, message, fix=_FIX, at=place)
    reading.severity = severity
