"""Whether a step takes more examples than the data has, where a program.json beside the file tells.

`tf-trainer inspect` writes program.json. It tells nothing if it is of another program, or of other
values of the flags that the params file names.
"""

import json
import os
from math import prod
from pathlib import Path
from typing import Any

from tf_cluster.expand.roles import is_lockstep
from tf_cluster.files import is_inside, read_regular
from tf_cluster.findings.finding import Code
from tf_cluster.params.beside import Given
from tf_cluster.pointer import Pointer, dotted
from tf_cluster.program.reading import Reading

FEW_EXAMPLES = Code(
    "TFC407",
    "a step that takes more examples than there are (advice)",
    why=(
        "The workers see the same example several times in one step: it costs time and teaches "
        "nothing."
    ),
    wrong=(
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}\n"
        "update: sync\n"
        "workers: 8\n"
        "train: {batchSize: 500}\n"
        "### program.json\n"
        '{"version": 1, "program": "nets.digits:Digits", "flags": {}, "examples": 1500}'
    ),
    right=(
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}\n"
        "update: sync\n"
        "workers: 8\n"
        "train: {batchSize: 50}\n"
        "### program.json\n"
        '{"version": 1, "program": "nets.digits:Digits", "flags": {}, "examples": 1500}'
    ),
)

FILE = "program.json"
_MOST_BYTES = 1_000_000
_BATCH: Pointer = ("train", "batchSize")
_MICRO_BATCHES: Pointer = ("train", "microBatches")


def find_few_examples(reading: Reading, folder: Path | Given, module: str) -> None:
    """Advise if one step takes more than all examples: of all workers, if they step together."""
    params = reading.params
    examples = _examples(reading, folder, module)
    batch = params.value_at(_BATCH)
    if examples is None or batch is None:
        return
    workers = params.value_at(("worker", "replicas")) if is_lockstep(params.effective) else 1
    factors = [one for one in (workers, params.value_at(_MICRO_BATCHES)) if one and one > 1]
    taken = prod((batch, *factors))
    if taken <= examples:
        return
    product = "".join(f"{one} × " for one in factors)
    words = f"{product}{batch} = {taken}" if factors else str(batch)
    message = f"a step takes {words} examples, and {FILE} counts {examples}"
    most = examples // prod(factors)
    fix = f"set {dotted(_BATCH)} to {most} or less" if most else "take fewer workers"
    reading.advise(params.origin_of(_BATCH), FEW_EXAMPLES, message, batch, fix)


def _examples(reading: Reading, folder: Path | Given, module: str) -> int | None:
    """How many examples program.json counts; None where it is not there or tells nothing."""
    raw = _bytes(folder)
    if raw is None:
        return None
    try:
        found: Any = json.loads(raw)
        told = (found["version"], found["program"])
        flags, examples = dict(found["flags"]), found["examples"]
    except (LookupError, RecursionError, TypeError, ValueError):
        reading.unknown(FILE, "it is not what tf-trainer inspect writes")
        return None
    asked = reading.params.value_at(("flags",)) or {}
    if told != (1, module) or any(flags.get(name, ...) != value for name, value in asked.items()):
        reading.unknown(FILE, "it is of another program, or of other flags")
        return None
    reading.read(FILE)
    return examples if isinstance(examples, int) and examples > 0 else None


def _bytes(folder: Path | Given) -> bytes | None:
    """The file's bytes; None if there is none that may be read."""
    if isinstance(folder, Given):
        raw = folder.bytes_of(FILE)
    else:
        path = folder / FILE
        try:
            if not os.path.lexists(path) or not is_inside(path, folder):
                return None
            raw = read_regular(path, _MOST_BYTES + 1)
        except (OSError, ValueError):
            return None
    return raw if raw is not None and len(raw) <= _MOST_BYTES else None
