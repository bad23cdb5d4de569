"""A snapshot as a file that can be handed on: support without access."""

import re
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from tf_cluster.cluster.snapshot import Snapshot
from tf_cluster.exits import RefusedError

FORMAT = "tf-cluster.io/snapshot/v1"
MOST_BYTES = 256 * 1024 * 1024
HIDDEN = "[hidden]"
_WORD = (
    r"[\w-]{0,40}(?:token|passw(?:or)?d|passphrase|secret|(?:api|access|account)[_-]?key|credential"
    r"|signature)[\w-]{0,40}|(?:[\w-]{0,40}[_-])?(?:pass|pwd)|(?:set-)?cookie|sig"
)
_QUOTE = r"\\*[\"']?"
_VALUE = r"(?:(?<=[\"'])[^\"'\\]+|[^\s\"'\\,;&]+)"
_HINT = re.compile(
    r"(?i)token|pass|pwd|secret|key|credential|authorization|bearer|basic|://|cookie|sig|eyJ|gh[a-z]_"
    r"|github_pat|glpat"
)
_SECRETS = (
    re.compile(r"(?P<before>://)[^/\s@]+(?=@)"),
    re.compile(rf"(?i)(?P<before>\bauthorization{_QUOTE}\s*[:=]\s*{_QUOTE}(?:\w+\s+)?){_VALUE}"),
    re.compile(r"(?i)(?P<before>\b(?:bearer|basic)\s+)[\w.~+/=-]{8,}"),
    re.compile(rf"(?i)(?P<before>\b(?:{_WORD}){_QUOTE}\s*[=:]\s*{_QUOTE}){_VALUE}"),
    re.compile(rf"(?i)(?P<before>--?(?:{_WORD})\s+{_QUOTE}){_VALUE}"),
    # Tokens that say themselves what they are: JSON Web Tokens, GitHub's and GitLab's.
    re.compile(r"(?P<before>)\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?"),
    re.compile(r"(?P<before>)\b(?:gh[a-z]_|github_pat_|glpat-)[\w-]{8,}"),
    re.compile(r"(?P<before>-----BEGIN [A-Z ]*PRIVATE KEY-----)[^-]+"),
)


class _Bundle(msgspec.Struct):
    format: str
    snapshot: Snapshot


def bundle(snapshot: Snapshot) -> str:
    """The snapshot as JSON. What looks like a secret in logs and messages is hidden."""
    made = _Bundle(FORMAT, _redacted(snapshot))
    return msgspec.json.format(msgspec.json.encode(made), indent=1).decode() + "\n"


def read_bundle(file: str) -> Snapshot:
    """The snapshot of a file that `bundle` made. Raises RefusedError."""
    try:
        path = Path(file)
        if not path.is_file():
            raise RefusedError(f"{file}: there is no such file")
        if path.stat().st_size > MOST_BYTES:
            raise RefusedError(f"{file}: larger than any snapshot")
        read = msgspec.json.decode(path.read_bytes(), type=_Bundle)
    except (OSError, msgspec.DecodeError) as error:
        raise RefusedError(f"{file} is no file of tf-cluster doctor --save: {error}") from None
    if read.format != FORMAT:
        raise RefusedError(f"{file} has format {read.format}: this tool reads {FORMAT}")
    return read.snapshot


def hidden(text: str) -> str:
    """A text without what looks like a password, a token or a key."""
    if not _HINT.search(text):
        return text
    for secret in _SECRETS:
        text = secret.sub(rf"\g<before>{HIDDEN}", text)
    return text


def _redacted(value: Any) -> Any:
    """The same value with every text in it looked through."""
    if isinstance(value, str):
        return hidden(value)
    if isinstance(value, tuple):
        return tuple(map(_redacted, value))
    if isinstance(value, dict):
        return {key: _redacted(one) for key, one in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        changed = {one.name: _redacted(getattr(value, one.name)) for one in fields(value)}
        return replace(value, **changed)
    return value
