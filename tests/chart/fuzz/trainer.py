"""What the trainer's own readers make of a drawn program, as far as that needs no TensorFlow."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tf_cluster_trainer.config import Config, Files, load
from tf_cluster_trainer.errors import HookError, ProgramError
from tf_cluster_trainer.program import flags as flags_reader
from tf_cluster_trainer.program.load import load as load_program
from tf_cluster_trainer.script_start import expanded, variables
from tf_cluster_trainer.sources.fetch import fetch
from tf_cluster_trainer.sources.limits import Limits

from tests.chart.helm import Rendered, merged

# Of a training that has not been rendered.
SOME = dict.fromkeys(("PS_HOSTS", "WORKER_HOSTS", "JOB_NAME", "DATA_DIR", "LOG_DIR"), "a")
SOME["TASK_INDEX"] = "0"


def config_of(rendered: Rendered) -> Config:
    """What the first worker reads of a rendered release. Raises ConfigError."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in rendered.one("ConfigMap", "config")["data"].items():
            Path(folder, name).write_text(text, encoding="utf-8")
        return load({"TF_CLUSTER_CONFIG": folder, "TF_CLUSTER_TASK_TYPE": "worker"})


def release_complaint(config: Config, metric: str) -> str:
    """What keeps a release's program from its first step; nothing where all is well.

    `metric` is that of exportBest, or empty.
    """
    settings = config.settings
    assert isinstance(settings.source, Files)
    if settings.script:
        args = expanded(settings.script.args, variables(config))
        return script_complaint(settings.source.contents[settings.script.path], args)
    return module_complaint(settings.source.contents, settings.module, config.flags, metric)


def params_complaint(files: Mapping[str, str], params: Mapping[str, Any]) -> str:
    """The same of a params file that makes no release."""
    program = _section(params, "program")
    if "script" in program:
        args = expanded(tuple(program.get("args", ())), SOME)
        return script_complaint(files[program["script"]], args)
    best = _section(params, "evaluator").get("exportBest", {})
    flags = {name: _through_helm(value) for name, value in _section(params, "flags").items()}
    return module_complaint(files, program["module"], flags, best.get("metric", ""))


def _section(params: Mapping[str, Any], name: str) -> dict[str, Any]:
    """A mapping of a params file, with what extraValues says of the value of that name."""
    made: dict[str, Any] = {}
    for one in (params.get(name), params.get("extraValues", {}).get(name)):
        made = merged(made, one) if isinstance(one, Mapping) else made
    return made


def module_complaint(
    files: Mapping[str, str], module: str, flags: Mapping[str, Any], metric: str
) -> str:
    """What is wrong with a program, its flags, or the metric of exportBest."""
    with tempfile.TemporaryDirectory() as folder, _imports():
        fetch(Files(files), Path(folder), Path(folder), Limits(), print)
        settings: Any = SimpleNamespace(program_path=folder, module=module)
        try:
            program = load_program(settings)
            flags_reader.of_run(program, flags)
        except (ProgramError, HookError) as error:
            return f"{type(error).__name__}: {error}"
        unused: Any = None  # the drawn hooks look at neither context nor model
        measured = program.evaluate(ctx=unused, model=unused) if metric else {}
    return "" if not metric or metric in measured else f"evaluate gives {sorted(measured)}"


def script_complaint(text: str, args: tuple[str, ...]) -> str:
    """What a script's own parser says to arguments."""
    said = io.StringIO()
    before, sys.argv = sys.argv, ["train.py", *args]
    try:
        with contextlib.redirect_stderr(said):
            exec(compile(text, "train.py", "exec"), {"__name__": "__main__"})
    except SystemExit:
        return said.getvalue().strip().rpartition("\n")[2]
    finally:
        sys.argv = before
    return ""


def _through_helm(value: Any) -> Any:
    """A flag as training.json has it: Helm writes 2.0 as 2."""
    if isinstance(value, list):
        return [_through_helm(one) for one in value]
    is_whole = isinstance(value, float) and value.is_integer() and abs(value) < 1e15
    return int(value) if is_whole else value


@contextlib.contextmanager
def _imports() -> Iterator[None]:
    """What is imported inside is forgotten afterwards: the next program has the same names."""
    path, known, writes = [*sys.path], {*sys.modules}, sys.dont_write_bytecode
    sys.dont_write_bytecode = True
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path[:], sys.dont_write_bytecode = path, writes
        for name in sys.modules.keys() - known:
            del sys.modules[name]
