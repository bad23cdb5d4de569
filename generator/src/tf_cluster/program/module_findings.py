"""Findings on a program class: is it there, has it these flags, does it give this metric?"""

import ast
import json
from itertools import islice
from typing import Any

from tf_cluster.expand.roles import has_evaluator
from tf_cluster.params.wording import excerpt
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.program.classes import (
    Family,
    bases_elsewhere,
    behind_program,
    decorators,
    family,
    member,
)
from tf_cluster.program.code_findings import (
    imports_findings,
    is_our_image,
    parse_finding,
    python_path,
    use_root,
)
from tf_cluster.program.codes import (
    CODE_NOT_THERE,
    FLAG_CHOICE,
    FLAG_MISSING,
    FLAG_TYPE,
    FLAGS_CLASS,
    HOOK_MISSING,
    NO_INSTANCE,
    NO_PROGRAM,
    NO_SUCH_CLASS,
    UNKNOWN_FLAG,
    UNKNOWN_METRIC,
)
from tf_cluster.program.flag_fields import Declared, FlagField, flags_of
from tf_cluster.program.imports import walk
from tf_cluster.program.instances import is_abstract, refusals
from tf_cluster.program.kinds import choices, fits, is_choice_missed, refused_in, unknown_in, words
from tf_cluster.program.metrics import metrics_of
from tf_cluster.program.near import listed, mistyped, near
from tf_cluster.program.parse import NotParsed
from tf_cluster.program.reading import Reading
from tf_cluster.program.resolve import (
    ClassHere,
    Code,
    FunctionHere,
    Missing,
    Unknown,
    ValueHere,
)
from tf_cluster.program.roots import Texts
from tf_cluster.program.scope import Module

_MODULE: Pointer = ("program", "module")
_FLAGS: Pointer = ("flags",)
_METRIC: Pointer = ("evaluator", "exportBest", "metric")
_HOOKS = ("build_model", "dataset")
_MOST = 30  # classes, and unknown flags, whose likely names are looked for


def find_in_module(reading: Reading, code: Code, reference: str) -> None:
    """Note findings on `package.module:ClassName`."""
    name, _, class_name = reference.partition(":")
    where = reading.params.origin_of(_MODULE)
    found = code.module(name)
    if isinstance(found, Missing):
        package = name.rpartition(".")[0]
        use_root(reading, code, code.holder(package))
        message = f"there is no module {name}: package {name.partition('.')[0]} has none"
        likely = mistyped(name, code.siblings(name))
        fix = f"did you mean '{likely}:{class_name}'?" if likely else ""
        reading.add(where, CODE_NOT_THERE, message, reference, fix)
        return
    if found is None:
        _not_among_files(reading, code, name, reference)
        return
    if isinstance(found, Unknown):
        reading.unknown("the program", found.why)
        return
    use_root(reading, code, code.root_of[name])
    if isinstance(found, NotParsed):
        parse_finding(reading, where, code.places[name], found)
        return
    imports_findings(reading, code, found, where)
    for _ in walk(code, found, only_ours=True):
        pass  # it is read: any of its modules may set what the class has
    _class(reading, code, found, reference, class_name)


def _not_among_files(reading: Reading, code: Code, name: str, reference: str) -> None:
    """A module that is in none of the directories: is it a file of the source, or misspelt?"""
    where = reading.params.origin_of(_MODULE)
    first = code.roots[0]
    if isinstance(first, Texts) and first.certain:
        class_name = reference.partition(":")[2]
        message = f"there is no module {name} among program.source.files"
        files = [one.removesuffix("/__init__") for one in first.modules()]
        likely = mistyped(name, (one.replace("/", ".") for one in files))
        if likely:
            fix = f"did you mean '{likely}:{class_name}'?"
            reading.add(where, CODE_NOT_THERE, message, reference, fix)
            return
        deeper = [one for one in files if one.endswith(f"/{name.replace('.', '/')}")]
        if len(deeper) == 1 and not python_path(reading.params):
            folder = first.shown(deeper[0][: -len(name) - 1])
            likely = deeper[0].replace("/", ".")
            fix = f"did you mean '{likely}:{class_name}', or program.path: {folder}?"
            reading.severity = "error" if is_our_image(reading.params) else "warning"
            reading.add(where, CODE_NOT_THERE, message, reference, fix)
            return
    reading.unknown("the program", f"there is no module {name} here")


def _class(reading: Reading, code: Code, module: Module, reference: str, class_name: str) -> None:
    where = reading.params.origin_of(_MODULE)
    found = code.named(module, class_name)
    if isinstance(found, Missing):
        classes = islice((n for n in module.tree.body if isinstance(n, ast.ClassDef)), _MOST)
        names = [n.name for n in classes if family(code, ClassHere(module, n)).is_program]
        likely = mistyped(class_name, module.scope.names) or near(class_name, names)
        likely = likely or (names[0] if len(names) == 1 else "")
        there = f"; its programs: {listed(names)}" if names else ""
        message = f"{module.file} has no {class_name}{there}"
        there_at = module.scope.only(likely)
        line = f", {module.place(there_at.node)}" if there_at else ""
        fix = f"did you mean '{module.name}:{likely}'{line}?" if likely else ""
        at = module.place(there_at.node if there_at else module.tree)
        reading.add(where, NO_SUCH_CLASS, message, reference, fix, at=at)
        return
    no_class = (isinstance(found, FunctionHere) and not found.node.decorator_list) or (
        isinstance(found, ValueHere) and isinstance(found.node, (ast.Constant, ast.Dict, ast.List))
    )
    if no_class:
        assert isinstance(found, (FunctionHere, ValueHere))
        place = found.module.place(found.node)
        message = f"{class_name} is no class ({place})"
        fix = "name a subclass of tf_cluster_trainer.Program"
        reading.add(where, NO_PROGRAM, message, reference, fix, at=place)
        return
    if not isinstance(found, ClassHere):
        why = found.why if isinstance(found, Unknown) else f"{class_name} is made elsewhere"
        reading.unknown(f"class {class_name}", why)
        return
    program = family(code, found)
    if decorators(code, found):
        place = found.module.place(found.node)
        reading.unknown(f"class {class_name}", f"{place}: what its decorators make of it")
        return
    if not program.is_program and program.may_be_program:
        reading.unknown(f"class {class_name}", program.may_be_program)
        return
    place = found.module.place(found.node)
    if not program.is_program:
        message = f"{class_name} is no subclass of tf_cluster_trainer.Program ({place})"
        fix = f"write class {class_name}(Program)"
        if any(name.endswith(".Model") for name in bases_elsewhere(code, found)):
            fix = f"name a subclass of Program whose build_model returns {found.node.name}()"
        reading.add(where, NO_PROGRAM, message, reference, fix, at=place)
        return
    reading.read(f"class {class_name} ({place})")
    for hook in _HOOKS:
        _hook(reading, code, program, hook, reference)
    for fault in refusals(code, program, _HOOKS):
        message = f"{fault.why} ({fault.place})"
        reading.add(where, NO_INSTANCE, message, reference, fault.fix, at=fault.place)
    _flags(reading, code, program)
    _metric(reading, code, program)


def _hook(reading: Reading, code: Code, program: Family, hook: str, reference: str) -> None:
    found = member(program, hook)
    where = reading.params.origin_of(_MODULE)
    if isinstance(found, Unknown):
        reading.unknown(f"whether there is a {hook}", found.why)
    elif isinstance(found, Missing):
        node = program.itself.node
        names = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
        likely = near(hook, names)
        message = f"{node.name} defines no {hook} ({program.place})"
        fix = f"did you mean {likely} to be {hook}?" if likely else _before(program, hook)
        reading.add(where, HOOK_MISSING, message, reference, fix, at=program.place)
    elif is_abstract(code, program, found):
        name, owner = program.itself.node.name, found.owner
        place = owner.module.place(found.binding.node)
        message = f"{name} defines no {hook}: {owner.node.name}.{hook} is abstract ({place})"
        reading.add(where, HOOK_MISSING, message, reference, f"define {hook} in {name}", at=place)


def _before(program: Family, name: str) -> str:
    """A fix where a class has what Program has, too, and comes too late; or nothing."""
    behind = behind_program(program, name)
    return f"{behind} has one, but stands behind Program: change their order" if behind else ""


def _flags(reading: Reading, code: Code, program: Family) -> None:
    flags = flags_of(code, program)
    declared = flags.what
    told: set[str] = set()
    if isinstance(declared, Declared):
        told = _types(reading, declared)
        _given(reading, declared)
    elif isinstance(declared, Unknown):
        reading.unknown("flags", declared.why)
    else:
        reading.unknown("flags", f"{program.itself.node.name} declares none, so any are good")
    where = reading.params.origin_of(_MODULE)
    for fault in flags.faults:
        if fault.name not in told:
            message = f"{fault.why} ({fault.place})"
            reading.add(where, FLAGS_CLASS, message, fix=fault.fix, at=fault.place)


def _types(reading: Reading, declared: Declared) -> set[str]:
    """Note findings on the declaration; the names of the fields that have one."""
    written = reading.params.written_at(_FLAGS)
    given = written if isinstance(written, dict) else {}
    return {
        one.name
        for one in declared.fields.values()
        if _type(reading, declared, one, is_given=one.name in given)
    }


def _given(reading: Reading, declared: Declared) -> None:
    """Note findings on the flags of the file."""
    fields = declared.fields
    reading.read(f"flags {listed(fields)} ({declared.place})")
    given: dict[str, Any] = dict(reading.params.value_at(_FLAGS) or {})
    # What stands in the file with findings of its own is left out of the values.
    written = reading.params.written_at(_FLAGS)
    if written is not None and not isinstance(written, dict):
        return
    refused = set(written or ()) - set(given)
    for name, value in given.items():
        if name in fields:
            _value(reading, fields[name], value)
    unknown = [name for name in given if name not in fields]
    misspelt = {name: mistyped(name, fields) for name in unknown[:_MOST]}
    for name in unknown:
        likely = misspelt.get(name) or (near(name, fields) if name in misspelt else "")
        _undeclared(reading, declared, name, likely, given[name])
    for one in fields.values():
        is_said = one.name in given or one.name in refused or one.name in misspelt.values()
        if one.has_default is False and not is_said:
            _missing(reading, declared, one)


def _undeclared(reading: Reading, declared: Declared, name: str, likely: str, value: Any) -> None:
    where = reading.params.origin_of((*_FLAGS, name))
    message = f"{dotted(where)} is no flag of {declared.name} ({declared.place})"
    at = declared.fields[likely].place if likely else declared.place
    fix = f"did you mean {likely}, {at}?" if likely else f"its flags: {listed(declared.fields)}"
    reading.add(where, UNKNOWN_FLAG, message, value, fix, at=at)


def _value(reading: Reading, one: FlagField, value: Any) -> None:
    if unknown_in(one.kind):
        reading.unknown(f"flags.{one.name}", unknown_in(one.kind))
    if fits(one.kind, value):
        return
    where = reading.params.origin_of((*_FLAGS, one.name))
    message = f"{dotted(where)} is {excerpt(value)}, not {words(one.kind)} ({one.place})"
    code = FLAG_TYPE
    fix = ""
    if is_choice_missed(one.kind, value):
        code = FLAG_CHOICE
        texts = [choice for choice in choices(one.kind) if isinstance(choice, str)]
        likely = mistyped(value, texts) if isinstance(value, str) else ""
        fix = f"did you mean {likely!r}?" if likely else ""
    elif isinstance(value, str):
        fix = _unquoted(one, value)
    elif fits(one.kind, ""):
        fix = "write it in quotes"
    reading.add(where, code, message, value, fix, at=one.place)


def _unquoted(one: FlagField, text: str) -> str:
    try:
        value = json.loads(text)
    except ValueError:
        return ""
    good = isinstance(value, (bool, int, float)) and fits(one.kind, value)
    return "write it without quotes" if good else ""


def _type(reading: Reading, declared: Declared, one: FlagField, *, is_given: bool) -> bool:
    """Whether the declaration is wrong: a type that no flag can have, a default of another type."""
    where = reading.params.origin_of(_MODULE)
    refused = refused_in(one.kind)
    if refused:
        message = f"{declared.name}.{one.name} has the type {refused} ({one.place})"
        fix = "flags can be str, int, float, bool, a Literal, list[…], tuple[…, ...] and … | None"
        reading.add(where, FLAGS_CLASS, message, fix=fix, at=one.place)
        return True
    if is_given or one.default is None or unknown_in(one.kind):
        return False
    try:
        default = ast.literal_eval(one.default)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    if fits(one.kind, default):
        return False
    message = (
        f"the default of {declared.name}.{one.name} is {default!r}, not {words(one.kind)} "
        f"({one.place})"
    )
    reading.add(where, FLAGS_CLASS, message, at=one.place)
    return True


def _missing(reading: Reading, declared: Declared, one: FlagField) -> None:
    value = "" if unknown_in(one.kind) else f": {words(one.kind)}"
    message = f"flags.{one.name} is missing{value} ({one.place})"
    fix = f"add {one.name}: …; it has no default"
    reading.add(_FLAGS, FLAG_MISSING, message, fix=fix, at=one.place)


def _metric(reading: Reading, code: Code, program: Family) -> None:
    params = reading.params
    metric = params.value_at(_METRIC)
    if not metric or not has_evaluator(params.effective):
        return
    found = metrics_of(code, program)
    where = params.origin_of(_METRIC)
    if isinstance(found, Unknown):
        reading.unknown("the metric of exportBest", found.why)
        return
    if isinstance(found, Missing):
        place = program.place
        message = f"{dotted(where)} is {excerpt(metric)}, but the program has no evaluate ({place})"
        fix = _before(program, "evaluate") or "write one that gives it"
        reading.add(where, UNKNOWN_METRIC, message, metric, fix, at=place)
        return
    names, at = found
    reading.read(f"metrics {listed(sorted(names))} ({at})")
    if metric in names:
        return
    likely = near(metric, sorted(names))
    fix = f"did you mean {likely}?" if likely else f"its metrics: {listed(sorted(names))}"
    message = f"{dotted(where)} is {excerpt(metric)}, which evaluate does not give ({at})"
    reading.add(where, UNKNOWN_METRIC, message, metric, fix, at=at)
