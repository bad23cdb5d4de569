"""A request of a person's: what `--input FILE.json` holds, as the trainer sends it.

Three forms are read: the recorded one, `{"inputs": {NAME: {"dtype", "shape", "values"}}}`; plain
values, `{"inputs": {NAME: [[…]]}}`, as REST has them; and `{"instances": [{NAME: …}, …]}`, rows.
What is made has the form of an export's record (docs/formats.md).
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tf_cluster.cluster.serving.exports import Tensor
from tf_cluster.exits import RefusedError

MOST_BYTES = 200_000
"""Of a request: it travels as an annotation of a pod, and Kubernetes takes 256 KiB of those."""
NAME = "request.json"


def request_text(raw: bytes, file: str, inputs: Mapping[str, Tensor]) -> str:
    """The request as JSON. What is wrong for the model is the server's to say, but for a shape.

    `inputs` are the model's own, by which plain numbers get their types. Raises RefusedError for
    what is no request at all, and for a shape that the model does not take: TensorFlow itself does
    not look, and an operation of oneDNN ends the whole server (convolution, 2.21).
    """
    _refuse_long(len(raw), file)
    try:
        document = json.loads(raw)
    except ValueError as error:
        raise RefusedError(f"{file}: not JSON: {error}") from None
    given = _inputs(document, file)
    made = {name: _tensor(one, f"{file}: {name}", inputs.get(name)) for name, one in given.items()}
    text = json.dumps({"request": {"inputs": made}}, ensure_ascii=False, separators=(",", ":"))
    try:
        _refuse_long(len(text.encode()), file)
    except UnicodeEncodeError as error:
        half = ascii(error.object[error.start])
        raise RefusedError(f"{file}: {half} is half a character: a string must be text") from None
    return text


def _refuse_long(size: int, file: str) -> None:
    if size > MOST_BYTES:
        raise RefusedError(
            f"{file}: a request of more than {MOST_BYTES} bytes does not travel with a Job: send "
            "fewer rows, or ask the server itself"
        )


def _inputs(document: Any, file: str) -> dict[str, Any]:
    if isinstance(document, Mapping):
        inputs = document.get("inputs")
        if isinstance(inputs, Mapping) and inputs:
            return dict(inputs)
        rows = document.get("instances")
        if isinstance(rows, Sequence) and rows and all(isinstance(row, Mapping) for row in rows):
            names = list(rows[0])
            if any(list(row) != names for row in rows):
                raise RefusedError(f"{file}: instances do not all have the same inputs")
            return {name: [row[name] for row in rows] for name in names}
    raise RefusedError(
        f'{file}: no request: write {{"inputs": {{NAME: [[…]]}}}}, with the names of the model\'s '
        "inputs"
    )


def _tensor(given: Any, where: str, known: Tensor | None) -> dict[str, Any]:
    if isinstance(given, Mapping) and "b64" not in given:
        if not {"dtype", "shape", "values"} <= given.keys():
            raise RefusedError(f"{where}: a tensor is a list, or has dtype, shape and values")
        _refuse_shape(given["shape"], where, known)
        return {key: given[key] for key in ("dtype", "shape", "values")}
    shape = _shape(given, where)
    _refuse_shape(shape, where, known)
    leaves = list(_leaves(given))
    return {"dtype": known.dtype if known else _dtype(leaves), "shape": shape, "values": given}


def _refuse_shape(shape: Any, where: str, known: Tensor | None) -> None:
    """Refuse a shape that an input does not have. Raises RefusedError."""
    if known is None or known.shape is None or not isinstance(shape, list):
        return
    fits = len(shape) == len(known.shape) and all(
        free is None or length == free for length, free in zip(shape, known.shape, strict=True)
    )
    if not fits:
        raise RefusedError(f"{where}: its shape is {shape}, and the model takes {known.text}")


def _shape(given: Any, where: str) -> list[int]:
    """The lengths of nested lists. Raises RefusedError where they differ."""
    if not isinstance(given, list):
        return []
    inner = [_shape(one, where) for one in given]
    if any(one != inner[0] for one in inner):
        raise RefusedError(f"{where}: its rows are not all as long as the first one")
    return [len(given), *(inner[0] if inner else [])]


def _leaves(given: Any) -> Any:
    if isinstance(given, list):
        for one in given:
            yield from _leaves(one)
    else:
        yield given


def _dtype(leaves: Sequence[Any]) -> str:
    """A type for an input that the model does not have: the server says so."""
    if leaves and all(isinstance(one, bool) for one in leaves):
        return "bool"
    if leaves and all(isinstance(one, int) for one in leaves):
        return "int64"
    return "float32" if all(isinstance(one, int | float) for one in leaves) else "string"
