"""Findings that modules and scripts have in common."""

from collections.abc import Collection, Sequence

from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer
from tf_cluster.program.code_place import CodePlace
from tf_cluster.program.codes import CODE_NOT_THERE, NOT_IN_IMAGE, NOT_PYTHON, RELATIVE_IMPORT
from tf_cluster.program.image_imports import IMAGE_NAME, changes_path
from tf_cluster.program.missing_imports import Lacking, missing_imports
from tf_cluster.program.near import mistyped
from tf_cluster.program.not_in_image import not_in_image
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.reading import Reading
from tf_cluster.program.relative_imports import refused_imports
from tf_cluster.program.resolve import Code
from tf_cluster.program.roots import Root
from tf_cluster.program.scope import Module
from tf_cluster.program.sure_imports import SureImport, sure_imports

_REPOSITORY: Pointer = ("image", "repository")
_MOST_FILES = 5
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


def imports_findings(reading: Reading, code: Code, module: Module, where: Pointer) -> None:
    """Findings on imports: what Python refuses, what was forgotten, and what the image lacks.

    The latter are warnings, if the image is one of ours by its name.
    """
    imports, stopped = sure_imports(code, module)
    if stopped:
        reading.unknown("imports after it", f"{stopped}: it may make modules, or end")
    for place, said, instead in refused_imports(imports):
        message = f"`{said}` always fails: {place} is in no package"
        fix = f"write `{instead}`" if instead else ""
        reading.add(where, RELATIVE_IMPORT, message, fix=fix, at=place)
    elsewhere = _elsewhere(reading.params, module, imports)
    told = set()
    for one in missing_imports(code, imports):
        if one.sure or not elsewhere:
            told.add(one.name.partition(".")[0])
            _missing(reading, one, where)
    _image(reading, code, where, imports, elsewhere, told)


def _missing(reading: Reading, one: Lacking, where: Pointer) -> None:
    """A finding on what the program's own files lack: an error, if nothing else can bring it."""
    files = _and(one.files)
    fix = f"add {files or 'its file'} to program.source.files"
    if one.module is not None and not one.files:
        name = one.name.rpartition(".")[2]
        message = f"{one.module.file} has no {name}, which {one.place} imports"
        likely = mistyped(name, one.module.scope.names)
        fix = f"did you mean {likely}?" if likely else ""
    elif one.sure:
        package = one.name.partition(".")[0]
        message = f"there is no module {one.name}, which {one.place} imports: "
        message += f"package {package} has none"
    else:
        verb = "is" if len(one.files) == 1 else "are"
        message = f"{one.place} imports {one.name}, but {files} {verb} not among the files"
    severity = reading.severity
    if not one.sure and not is_our_image(reading.params):
        fix += ", unless the image has it" if reading.params.for_cluster else ""
        reading.severity = "warning"
    reading.add(where, CODE_NOT_THERE, message, fix=fix, at=one.place)
    reading.severity = severity


def _and(files: Sequence[str]) -> str:
    """`a.py, b.py and c.py`, or the first of them and how many more there are."""
    more = len(files) - _MOST_FILES
    words = [*files[:_MOST_FILES], *([f"{more} more"] if more > 0 else [])]
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def is_our_image(params: Params) -> bool:
    """Whether the image is one of the trainer's by its name, so that what it has is known."""
    repository = params.value_at(_REPOSITORY) or ""
    return params.for_cluster and repository.rpartition("/")[2] == IMAGE_NAME


def _elsewhere(params: Params, module: Module, imports: Sequence[SureImport]) -> str:
    """Why modules may come from directories that were not looked at; empty if none do."""
    path = params.value_at(("program", "path")) or ""
    if path.startswith("/"):
        return f"others may lie in {path}"
    modules = {one.module.file: one.module for one in imports} | {module.file: module}
    change = next(filter(None, map(changes_path, modules.values())), "")
    if change:
        return f"{change}: the directories of modules are changed"
    return python_path(params)


def python_path(params: Params) -> str:
    """Who sets PYTHONPATH; empty if the params do not."""
    for section in params.effective.values():
        variables = (section.get("extraEnv") or ()) if isinstance(section, dict) else ()
        if any(one.get("name") == "PYTHONPATH" for one in variables):
            return "extraEnv sets PYTHONPATH"
    return ""


def _image(
    reading: Reading,
    code: Code,
    where: Pointer,
    imports: Sequence[SureImport],
    elsewhere: str,
    told: Collection[str],
) -> None:
    """Findings on what the image lacks, but for what was told."""
    params = reading.params
    repository = params.value_at(_REPOSITORY) or ""
    if not params.for_cluster or not repository:
        return
    if not is_our_image(params):
        reading.unknown("imports", f"image {repository} may have any package")
        return
    if elsewhere:
        reading.unknown("imports", elsewhere)
        return
    severity, reading.severity = reading.severity, "warning"
    for name, place in not_in_image(code, imports):
        if name not in told:
            message = f"the trainer's image has no {name}, which {place} imports"
            fix = _FIX if "." not in name else "it was in TensorFlow 1 alone"
            reading.add(where, NOT_IN_IMAGE, message, fix=fix, at=place)
    reading.severity = severity
