"""What a container runs: a script with its arguments, if that can be known from the manifest."""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tf_cluster.checks.placeholder_program import UNKNOWN
from tf_cluster.convert.job import Job
from tf_cluster.convert.shell import plain_command
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.printable import cut

_PYTHON = re.compile(r"(.*/)?python(3(\.[0-9]+)?)?")
_SHELL = re.compile(r"(.*/)?(sh|bash|ash|dash)")
_ENV = re.compile(r"(.*/)?env")
_OPTION = re.compile(r"--[a-z].*|-(?![-cm])[A-Za-z?].*", re.DOTALL)
_TAKES_NEXT = re.compile(r"--check-hash-based-pycs|-[A-VYZa-z]*[WX]")
_SCRIPT = re.compile(r"([^\x00-\x1f\x7f-\x9f]*/)?[^/\x00-\x1f\x7f-\x9f]+\.py")
_COMMAND = re.compile(r"\.py\b|(^|[\s/])python[\d.]*(\s|$)")
_MODULE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_WRITES = re.compile(r"log|model|out|checkpoint|ckpt|export|save|job|summar")
_LONGEST = 10_000
"""Of a variable's value. Each may have the ones before it many times: they grow fast."""

_REFERENCE = re.compile(r"\$(?:\$|\(([A-Za-z_.-][\w.-]*)\))")


@dataclass(frozen=True)
class Word:
    """One argument, and the field that it stands in.

    `unfilled` are variables in it whose values the manifest does not tell: Kubernetes fills them
    in. What the container does not define stays as it is there, and here too. `kind` is what the
    argument is where it is no text, which Kubernetes refuses.
    """

    text: str
    field: Pointer
    unfilled: tuple[str, ...] = ()
    kind: str = ""

    @property
    def is_scalar(self) -> bool:
        """Whether the text says all of it."""
        return self.kind in ("", *_SCALARS.values())


NOT_NEEDED = {
    "-u": "what a script prints is in the log at once",
    "-B": "no task can write bytecode beside its code",
}
"""Python's own options that change nothing here, and why."""

_SCALARS = {bool: "a boolean", int: "a number", float: "a number"}
_NAME_IT = "name the script, by its path in the image or in program.source"


@dataclass(frozen=True)
class Command:
    """A script, its arguments and the directory it runs in.

    `doubt` is what could not be known, and `remedy` what a person does about it. `options` are
    Python's own, which no task sets.
    """

    script: str
    args: tuple[Word, ...]
    folder: str
    doubt: str = ""
    remedy: str = _NAME_IT
    options: tuple[Word, ...] = ()

    @property
    def missed(self) -> tuple[Word, ...]:
        """Options without which the script may run otherwise."""
        return tuple(option for option in self.options if option.text not in NOT_NEEDED)

    @property
    def path(self) -> str:
        """What program.path has to be; empty where the script's own directory is right."""
        return self.folder or ("" if posixpath.isabs(self.script) else UNKNOWN)


def command_of(job: Job, container: Pointer) -> Command:
    """What a container runs."""
    text = next((key for key in ("command", "args") if job.text((*container, key))), "")
    if text:
        doubt = f"{text} is a text, and Kubernetes needs a list there, as [python, /opt/train.py]"
        return Command(f"{UNKNOWN}/train.py", (), "", doubt, "mend it and convert again")
    words, args = (words_of(job, container, key) for key in ("command", "args"))
    folder = job.text((*container, "workingDir"))
    folder = folder if posixpath.isabs(folder) else ""
    every = [*words, *args]
    odd = next((word for word in every if not word.is_scalar), None)
    known = every[: every.index(odd)] if odd else every
    if words or (args and _PYTHON.fullmatch(args[0].text)):
        command = _read(known, folder)  # with args alone: an image that runs what it is given
    else:
        doubt = "the image's own command runs, which the manifest does not tell"
        command = Command(f"{UNKNOWN}/train.py", tuple(known), folder, doubt)
    return _without_args(command, odd) if odd else command


def _without_args(command: Command, odd: Word) -> Command:
    """No argument is written where one of them can't be: a part of them would train otherwise."""
    doubt = f"{dotted(odd.field[-2:])} is {odd.kind}, no text, so no argument is written"
    if command.doubt:
        return replace(command, args=(), doubt=f"{command.doubt}; {doubt}")
    return replace(command, args=(), doubt=doubt, remedy="write them as program.args")


def _read(words: list[Word], folder: str) -> Command:
    if len(words) == 3 and _SHELL.fullmatch(words[0].text) and words[1].text in _SHELL_FLAGS:
        line = words[2]
        plain = plain_command(line.text)
        if not plain:
            doubt = f"a shell runs: {cut(line.text, 200)}"
            return Command(f"{UNKNOWN}/train.py", (), folder, doubt)
        words = [Word(text, line.field, _in(text, line.unfilled)) for text in plain[1]]
        folder = posixpath.join(folder, plain[0])
        folder = folder if posixpath.isabs(folder) else ""
    if len(words) > 1 and _ENV.fullmatch(words[0].text) and _PYTHON.fullmatch(words[1].text):
        words = words[1:]
    if not words:
        return Command(f"{UNKNOWN}/train.py", (), folder, "an empty command")
    if _PYTHON.fullmatch(words[0].text):
        options, rest = _options(words[1:])
        return replace(_of_python(rest, folder), options=options)
    if _SCRIPT.fullmatch(words[0].text):
        return _of_script(words, folder)
    doubt = f"{cut(words[0].text)} runs, which is no Python script (.py)"
    if not _runs_another(words):
        return Command(f"{UNKNOWN}/train.py", tuple(words[1:]), folder, doubt)
    whole = cut(" ".join(word.text for word in words), 200)
    remedy = f"name the script, and its arguments in program.args, of: {whole}"
    return Command(f"{UNKNOWN}/train.py", (), folder, doubt, remedy)


def _runs_another(words: list[Word]) -> bool:
    """Whether the words after the first are a command, or hold one: `nohup python /a.py`."""
    is_shell = _SHELL.fullmatch(words[0].text)
    return bool(is_shell or any(_COMMAND.search(word.text) for word in words[1:]))


def _in(text: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if f"$({name})" in text)


_SHELL_FLAGS = ("-c", "-lc", "-ec", "-exc", "-euc", "-xc")


def _options(words: list[Word]) -> tuple[tuple[Word, ...], list[Word]]:
    """Python's own options, each with its value, and the words after them."""
    options: list[Word] = []
    rest = list(words)
    while rest and _OPTION.fullmatch(rest[0].text):
        option = rest.pop(0)
        if _TAKES_NEXT.fullmatch(option.text) and rest:
            option = replace(option, text=f"{option.text} {rest.pop(0).text}")
        options.append(option)
    return tuple(options), rest


def _of_python(words: list[Word], folder: str) -> Command:
    if words and words[0].text == "-c":
        return Command(f"{UNKNOWN}/train.py", tuple(words[2:]), folder, "python -c runs code")
    if len(words) > 1 and words[0].text == "-m":
        name = words[1].text
        doubt = f"python -m {cut(name)}: a task runs a script by its path"
        known = _MODULE.fullmatch(name)
        script = f"{name.replace('.', '/')}.py" if known else "train.py"
        if not folder:
            script = f"{UNKNOWN}/{script}"
        return Command(script, tuple(words[2:]), folder, doubt)
    if not words:
        return Command(f"{UNKNOWN}/train.py", (), folder, "python runs without a script")
    if not _SCRIPT.fullmatch(words[0].text):
        doubt = f"{cut(words[0].text)} is no name of a Python script (.py)"
        return Command(f"{UNKNOWN}/train.py", tuple(words[1:]), folder, doubt)
    return _of_script(words, folder)


def _of_script(words: list[Word], folder: str) -> Command:
    script, doubt = words[0].text, ""
    if not posixpath.isabs(script) and not folder:
        doubt = f"{cut(script)} is in the image's working directory, which is not told"
    return Command(script, tuple(words[1:]), folder, doubt)


def words_of(job: Job, container: Pointer, key: str) -> list[Word]:
    """The words of `command` or `args`, with the container's variables filled in."""
    variables = _variables(job, container)
    given = {job.text((*path, "name")) for path in job.items((*container, "env"))}
    may_have_more = bool(job.items((*container, "envFrom")))
    words = []
    for path in job.items((*container, key)):
        value = job.get(path)
        if isinstance(value, str):
            names = [match[1] for match in _REFERENCE.finditer(value) if match[1]]
            unfilled = tuple(
                name for name in names if name not in variables and (name in given or may_have_more)
            )
            words.append(Word(_filled(value, variables), path, unfilled))
        elif type(value) in _SCALARS:
            words.append(Word(job.written(path), path, kind=_SCALARS[type(value)]))
        else:
            words.append(Word(str(value), path, kind=_kind(value)))
    return words


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return "a mapping" if isinstance(value, Mapping) else "a list"


def _variables(job: Job, container: Pointer) -> dict[str, str]:
    variables: dict[str, str] = {}
    for path in job.items((*container, "env")):
        name, value = job.text((*path, "name")), job.get((*path, "value"))
        if name and isinstance(value, str) and job.get((*path, "valueFrom")) is None:
            filled = _filled(value, variables)
            variables.pop(name, None)
            if len(filled) <= _LONGEST:
                variables[name] = filled
    return variables


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """A text as the container gets it: Kubernetes fills in $(NAME), and $$ is a dollar sign."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] is None else variables.get(match[1], match[0])

    return _REFERENCE.sub(value, text)


def written_path(argument: str) -> str:
    """Where an argument such as `--model_dir=/train` seems to tell to write to; else empty."""
    name, _, path = argument.partition("=")
    names_one = len(name) <= 60 and _WRITES.search(name) and path.startswith("/")
    return path if names_one else ""


def as_argument(text: str) -> str:
    """The text as an item of program.args, where a dollar sign is two."""
    return text.replace("$", "$$")
