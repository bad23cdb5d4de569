"""The commands of all roles, and the image they ran in, become one program."""

from tf_cluster.checks.placeholder_program import UNKNOWN
from tf_cluster.convert.command import (
    NOT_NEEDED,
    Command,
    Word,
    as_argument,
    command_of,
    words_of,
    written_path,
)
from tf_cluster.convert.container import container_of
from tf_cluster.convert.draft import Draft
from tf_cluster.convert.job import Job
from tf_cluster.convert.roles import Plan, Role
from tf_cluster.pointer import Pointer
from tf_cluster.printable import cut

_COMMAND = ("command", "args", "workingDir")


def put_program(job: Job, plan: Plan, draft: Draft, image: str | None) -> None:
    """The program, its arguments, and what the ps run."""
    lead = plan.lead
    where = container_of(job, lead)
    command = command_of(job, where)
    _put_command(job, where, command, draft)
    for role in (*plan.roles, plan.joined):
        if role and role is not lead:
            _other(job, role, lead, command, draft)
    _put_image(job, plan, draft, image)


def _put_command(job: Job, where: Pointer, command: Command, draft: Draft) -> None:
    source = next(((*where, key) for key in ("command", "args") if job.items((*where, key))), where)
    draft.put(("program", "script"), command.script, source)
    if command.path:
        draft.put(("program", "path"), command.path, (*where, "workingDir"))
    places = [job.text((*one, "mountPath")) for one in job.items((*where, "volumeMounts"))]
    mounts = ["/tmp", "/log", "/data", *(one.rstrip("/") for one in places if one)]
    for word in command.args:
        draft.append(("program", "args"), as_argument(word.text), word.field)
        for name in word.unfilled:
            why = f"$({name}) was filled in by Kubernetes; the script gets the text as it is"
            job.remark(word.field, why, "program")
        if word.kind:
            shown = cut(word.text)
            why = f"{shown} is {word.kind}, which Kubernetes refuses; it is written as '{shown}'"
            job.remark(word.field, why, "program")
        _may_not_write(job, word, mounts)
    for option in command.options:
        if option in command.missed:
            why = f"{cut(option.text)}: tasks run python without it{_instead(option.text)}"
            job.remark(option.field, why, "program")
        else:
            why = f"{option.text} is not needed: {NOT_NEEDED[option.text]}"
            job.leave_out(option.field, why)
    _tell_fields(job, where, command, source)


_VARIABLES = (
    ("-O", "PYTHONOPTIMIZE"),
    ("-W", "PYTHONWARNINGS"),
    ("-X faulthandler", "PYTHONFAULTHANDLER"),
)


def _instead(option: str) -> str:
    """Where a variable of Python says the same as an option."""
    names = [name for start, name in _VARIABLES if option.startswith(start)]
    return f"; the variable {names[0]} in extraEnv does the same" if names else ""


def _tell_fields(job: Job, where: Pointer, command: Command, source: Pointer) -> None:
    """What became of the fields. One of which nothing is written is to do, with the doubt."""
    if _is_read(job, (*where, "workingDir")):
        job.maps((*where, "workingDir"), "program.path")
    doubt = f"{command.doubt}: {command.remedy}" if command.doubt else ""
    is_told = not doubt
    both = ((*where, "command"), (*where, "args"))
    paths = [path for path in both if job.items(path) or job.text(path)]
    for path in paths:
        written = _written(path, command, is_first=path == paths[0]) if doubt else _KEYS[path[-1]]
        if written:
            job.maps(path, ", ".join(written))
        else:
            job.to_do(path, doubt, "program")
            is_told = True
    if not is_told:
        job.remark(source, doubt, "program")


def _written(path: Pointer, command: Command, *, is_first: bool) -> tuple[str, ...]:
    """What is written of `command` or `args` where a part of it is in doubt."""
    has_script = is_first and not command.script.startswith(UNKNOWN)
    has_args = any(word.field[: len(path)] == path for word in command.args)
    return ("program.script",) * has_script + ("program.args",) * has_args


_SERVER = (
    "not the workers' command: the ps run TensorFlow's server instead; if that is what this did, "
    "nothing is missing"
)
_KEYS: dict[str | int, tuple[str, ...]] = {
    "command": ("program.script", "program.args"),
    "args": ("program.args",),
}


def _is_read(job: Job, path: Pointer) -> bool:
    if path[-1] == "workingDir":
        return job.text(path).startswith("/")
    return bool(job.items(path))


def _may_not_write(job: Job, word: Word, mounts: list[str]) -> None:
    """Remark on an argument that names a directory to write into."""
    path = written_path(word.text)
    if path and not any(f"{path}/".startswith(f"{one}/") for one in mounts):
        why = (
            f"{cut(path)}: tasks can write to /tmp, to volumes and to $(LOG_DIR), this "
            "run's own directory; everything else is read-only"
        )
        job.remark(word.field, why, "program")


def _other(job: Job, role: Role, lead: Role, command: Command, draft: Draft) -> None:
    """The command of a role that is not the lead: all tasks run one program."""
    where = container_of(job, role)
    own = _essence(job, where, command_of(job, where))
    same = own == _essence(job, container_of(job, lead), command)
    if role.target == "ps":
        draft.put(("program", "ps"), "script" if same else "server", where)
        if not same and not any(job.get((*where, key)) for key in _COMMAND):
            job.remark(where, _SERVER, "program")  # the image's own command
    for key in _COMMAND:
        path = (*where, key)
        if job.get(path) is None:
            continue
        if same and _is_read(job, path):
            if (command.doubt or command.missed) and key != "workingDir":
                job.leave_out(path, "as the workers'")
            else:
                job.maps(path, "program", "as the workers'")
        elif role.target == "ps":
            job.to_do(path, _SERVER, "program")
        else:
            job.to_do(path, "not the workers' command, and all tasks run one", "program")


def _essence(job: Job, container: Pointer, command: Command) -> tuple[object, ...]:
    """What containers that run the same have in common; where that is in doubt, each word."""
    if not command.doubt:
        options = tuple(option.text for option in command.missed)
        return command.script, command.folder, options, tuple(word.text for word in command.args)
    words = (words_of(job, container, key) for key in ("command", "args"))
    return command.folder, *(tuple((w.text, w.is_scalar) for w in some) for some in words)


def _put_image(job: Job, plan: Plan, draft: Draft, image: str | None) -> None:
    """The image has to be the trainer's, with what the script needs: only a person can make it."""
    lead = (*container_of(job, plan.lead), "image")
    if image is not None:
        draft.put(("image",), image, lead)
    shown = cut(job.text(lead) or "none", 200)
    for role in (*plan.roles, plan.joined):
        path = (*container_of(job, role), "image") if role else ()
        if not role or job.get(path) is None:
            continue
        if path != lead and job.text(path) != job.text(lead):
            why = f"{cut(job.text(path), 200)}, and the {plan.lead.kind}'s is {shown}: " + (
                "worker 0 is as all workers are"
                if role is plan.joined
                else f"if the tasks need different images, extraValues.{role.target}.image says it"
            )
            job.to_do(path, why, "image")
        elif image is not None:
            job.leave_out(path, f"{shown}: {image} takes its place")
        elif path == lead:
            why = (
                f"{shown}: tasks run in the trainer's image. Build one with what the script needs "
                "from there, and name it here"
            )
            job.to_do(path, why, "image")
        else:
            job.leave_out(path, "as the workers'")
    if image is None and job.get(lead) is None:
        job.remark(lead[:-1], "name the trainer's image, with what the script needs", "image")
