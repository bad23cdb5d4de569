"""The params file that `tf-cluster init` writes: short, valid, with other keys as comments."""

from pathlib import PurePath
from shlex import quote

from tf_cluster.check import check
from tf_cluster.exits import RefusedError
from tf_cluster.findings.finding import errors
from tf_cluster.params.names import NAME_LIMIT
from tf_cluster.printable import printable
from tf_cluster.yaml.writer import yaml_text

SCHEMA = "params.schema.json"
"""The file beside the params by whose name an editor completes keys."""
_FOR_EDITORS = f"# yaml-language-server: $schema={SCHEMA}\n"
_WITHOUT_SCHEMA = f"# For completion in an editor: tf-cluster schema > {SCHEMA}, then init.\n"

_STARTER = """\
# What to train and on what. Check it:        tf-cluster validate {file}
# Train on this machine:                      tf-cluster run {file}
# Values for the Helm chart tf-cluster:       tf-cluster generate {file} -o {name}.values.yaml
name: {name}

# small: 2 workers, 1 ps, one node. medium: 4 workers, 1 ps. large: 8 workers, 4 ps.
preset: {preset}

# The trainer image with your program in it; only a cluster needs it (`make image` builds one).
image: registry.example.com/team/tf-cluster-trainer:0.1.0

program:
  # package.module:ClassName, a subclass of tf_cluster_trainer.Program
  # (or, in place of module and train, a script that runs as it is: script: train.py)
  module: {module}

train:
  steps: 2000
  # batchSize: 32               # examples of a batch, per worker
  # optimizer: {{name: Adam, learningRate: 0.001}}
  # checkpoint: {{seconds: 60, keep: 3}}

# strategy: all-reduce          # no ps, no chief; or replication: between-graph, or update: sync
# workers: 2                    # instead of the preset's number
# ps: 1
# evaluator: true               # measures every checkpoint with the program's `evaluate`
# resources:                    # of one task, by role: chief, worker, ps, evaluator
#   worker:
#     requests: {{cpu: "1", memory: 2Gi}}
#     limits: {{memory: 4Gi}}
# gpus: 1                       # of each worker, with the image's GPU build
# tensorboard: true             # shows the curves; notebook: true adds JupyterLab
# flags:                        # your program's own settings: ctx.flags
#   units: 64
# data: {{claim: my-data}}        # an existing claim at /data; or {{size: 20Gi, class: fast}}
# log: {{size: 20Gi}}             # checkpoints, TensorBoard events, the model
# run: {{id: "1"}}                # a new id trains afresh; the same id goes on from its checkpoint
"""


def starter_text(
    *, file: str, name: str, preset: str, module: str, has_schema: bool = False
) -> str:
    """A starter for these choices; not checked here. `has_schema`: `SCHEMA` is beside it."""
    parts = {"name": name, "preset": preset, "module": module}
    shown = "training.params.yaml" if file == "-" else printable(file)
    texts = {key: yaml_text(part).splitlines()[0] for key, part in parts.items()}
    editors = _FOR_EDITORS if has_schema else _WITHOUT_SCHEMA
    return editors + _STARTER.format(file=quote(shown), **texts)


def checked_starter(
    *, file: str, name: str | None, preset: str, module: str, has_schema: bool = False
) -> str:
    """A starter that is valid. Raises RefusedError for a choice that is not."""
    chosen = name_from(file) if name is None else name
    text = starter_text(file=file, name=chosen, preset=preset, module=module, has_schema=has_schema)
    findings = check(file, text.encode()).findings
    wrong = errors(findings)
    if wrong:
        reasons = "; ".join(finding.words for finding in wrong)
        raise RefusedError(f"no params file written: {reasons}")
    return text


def name_from(file: str) -> str:
    """A name for the training from the name of its file: digits.params.yaml is `digits`."""
    stem = PurePath(file).name.partition(".")[0].lower()
    letters = "".join(c if c.isascii() and c.isalnum() else "-" for c in stem)
    name = letters.lstrip("-0123456789")[:NAME_LIMIT].rstrip("-")
    return "training" if name in ("", "params") else name
