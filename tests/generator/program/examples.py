"""The real programs that the mutations start from: the product's examples, and the guide's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tf_cluster.check import Checked, check

from tests.generator.conftest import ROOT

PROGRAMS = ROOT / "trainer" / "src" / "tf_cluster_trainer" / "examples"
SCRIPTS = ROOT / "values-examples" / "scripts"
IMAGE = "localhost/tf-cluster-trainer:0.1.0"


@dataclass(frozen=True)
class Example:
    """A params file and the code beside it; `rest` are keys besides name, image and program."""

    name: str
    files: Mapping[str, str]
    program: Mapping[str, Any]
    rest: Mapping[str, Any] = field(default_factory=dict)

    def params(self) -> str:
        """The params file."""
        program = {**self.program, "source": {"files": list(self.files)}}
        whole = {"name": "a", "image": IMAGE, "program": program, **self.rest}
        return yaml.safe_dump(whole, sort_keys=False)

    def checked(self, folder: Path) -> Checked:
        """What `validate` makes of it in a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return check("p.yaml", self.params().encode(), folder=folder)


def _program(name: str, class_name: str, metric: str, flags: Mapping[str, Any]) -> Example:
    best = {"exportBest": {"metric": metric, "mode": "max"}}
    return Example(
        name,
        {f"{name}.py": (PROGRAMS / f"{name}.py").read_text()},
        {"module": f"{name}:{class_name}"},
        {"flags": flags, "evaluator": best},
    )


def _guide() -> Example:
    """The program of docs/trainer.md with every type of flag."""
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/trainer.md").read_text(), re.DOTALL)
    first = next(block for block in blocks if "class Sums(Program)" in block)
    flags = next(block for block in blocks if "class VisionFlags" in block)
    hooks = first[first.index("    def build_model") :].replace("ctx.flags.units", "8")
    evaluate = "\n    def evaluate(self, ctx, model):\n        return {'error': 0.5}\n"
    text = first[: first.index("@dataclass")] + flags.rstrip() + "\n\n" + hooks + evaluate
    return Example(
        "guide",
        {"guide.py": text},
        {"module": "guide:Vision"},
        {
            "flags": {
                "vocabulary": "words.txt",
                "layers": 2,
                "dropout": 0.5,
                "activation": "tanh",
                "widths": [8, 4],
                "limit": 7,
            },
            "evaluator": {"exportBest": {"metric": "error", "mode": "min"}},
        },
    )


def _script(name: str, args: list[str], rest: Mapping[str, Any]) -> Example:
    text = (SCRIPTS / f"{name}.py").read_text()
    return Example(name, {f"{name}.py": text}, {"script": f"{name}.py", "args": args}, rest)


HOSTS = [
    "--ps_hosts=$(PS_HOSTS)",
    "--worker_hosts=$(WORKER_HOSTS)",
    "--job_name=$(JOB_NAME)",
    "--task_index=$(TASK_INDEX)",
    "--log_dir=$(LOG_DIR)",
]
MODULES = (
    _program("digits", "Digits", "accuracy", {"units": 32}),
    _program("mnist", "Mnist", "accuracy", {"mirror": "", "units": 64}),
    _program("recommender", "Recommender", "rmse", {"ratings": "r.csv", "users": 10, "width": 4}),
    _program("text", "Text", "perplexity", {"file": "t.txt", "words": 500, "units": 16}),
    _guide(),
)
SCRIPT_EXAMPLES = (
    _script("replicas_1x", [*HOSTS, "--steps=2000", "--sync"], {"replication": "between-graph"}),
    _script("parameter_server", ["--steps=2000"], {}),
    _script("mirrored_keras", ["--epochs", "3"], {"strategy": "all-reduce"}),
)
