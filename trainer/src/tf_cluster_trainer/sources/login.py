"""The login of a private source: files that are named like the keys of a Secret.

In a pod the Secret is mounted as such files; on one machine they are the user's own. Nothing here
is logged, and `hidden` takes out of a message what a server put into it.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..config import Download, Files, Source
from .errors import SourceError

# Names the directory of the files.
LOGIN_VARIABLE = "TF_CLUSTER_SOURCE_LOGIN"
DEFAULT_LOGIN_DIRECTORY = "/etc/tf-cluster-source"
KEYS = ("username", "password", "token", "header")
PROGRAM_SOURCE = "program.source"
"""The key of values and params that says where a program's code is."""
KEYS_IN_WORDS = "username and password, or token, or (for program.source.url) header"
# Every Git server takes a token as a password. Few of them care for the name.
_TOKEN_USER = "git"
_HEADER = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ ]*([!-~](?:[ -~]*[!-~])?)")


@dataclass(frozen=True)
class Login:
    """What a server is told, and the words for it in messages: the Secret and its keys."""

    words: str
    header: tuple[str, str] = field(repr=False)
    user: tuple[str, str] | None = field(default=None, repr=False)

    def hidden(self, text: str) -> str:
        """`text` without the login, in any form that was sent."""
        secrets = {self.header[1], self.header[1].rpartition(" ")[2]}
        if self.user:
            secrets.add(self.user[1])
        for secret in sorted(secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        return text


def login(source: Source, directory: Path) -> Login | None:
    """The login that `source` needs; None if it names no Secret. Raises SourceError."""
    if isinstance(source, Files) or not source.secret:
        return None
    secret, by_address = source.secret, isinstance(source, Download)
    found = {key: text for key in KEYS if (text := _text(directory / key, secret))}
    if by_address and "header" in found:
        match = _HEADER.fullmatch(found["header"])
        if match is None:
            raise SourceError(f"key header of Secret {secret} is no line of the form 'NAME: value'")
        return Login(f"Secret {secret} (key header)", (match[1], match[2]))
    if by_address and "token" in found:
        bearer = ("Authorization", f"Bearer {found['token']}")
        return Login(f"Secret {secret} (key token)", bearer)
    for key in ("token", "password"):
        if key in found and (key == "token" or "username" in found):
            user = (found.get("username", _TOKEN_USER), found[key])
            keys = f"keys username and {key}" if "username" in found else f"key {key}"
            return Login(f"Secret {secret} ({keys})", _basic(user), user)
    has = f"has {' and '.join(found)} alone" if found else "has none of its keys"
    raise SourceError(
        f"program.source.secretName is {secret}, but {directory} {has}. Needed: {KEYS_IN_WORDS}. "
        f"`tf-cluster run` reads such files where {LOGIN_VARIABLE} says"
    )


def refused(answer: str, login: Login | None, place: str = PROGRAM_SOURCE) -> str:
    """Words for a server that asks for a login, or takes another one."""
    if login:
        return f"{answer}: the server refuses the login of {login.words}"
    words = f"{answer}: it asks for a login, so it does not exist or is not public"
    if place == PROGRAM_SOURCE:
        words += f". {place}.secretName names a Secret with a login"
    return words


def not_shown_to(login: Login | None) -> str:
    """What else "not there" may mean: many servers say so of what a login may not read."""
    return f", or the login of {login.words} may not read it" if login else ""


def _text(file: Path, secret: str) -> str:
    """The content of a key, without white space around it; "" where there is none."""
    try:
        text = file.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is no text"
        raise SourceError(f"key {file.name} of Secret {secret} can't be read: {why}") from None
    if not re.fullmatch(r"[ -~]*", text):
        raise SourceError(f"key {file.name} of Secret {secret} has other than plain characters")
    return text


def _basic(user: tuple[str, str]) -> tuple[str, str]:
    return "Authorization", "Basic " + base64.b64encode(":".join(user).encode()).decode()
