"""Downloads a file over HTTP and checks its hash."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from http.client import HTTPMessage
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from urllib.request import Request

from .errors import SourceError, UnreachableError, of_connection
from .limits import Limits, size
from .login import PROGRAM_SOURCE, Login, not_shown_to, refused

_CHUNK = 256 * 1024
# HTTP 4xx answers that a later try may change.
_PASSING = {408, 425, 429}


def download(
    url: str,
    sha256: str,
    target: Path,
    limits: Limits,
    login: Login | None,
    place: str = PROGRAM_SOURCE,
) -> None:
    """Write the file at `url` to `target`; follow redirects, and use the environment's proxies.

    A redirect to another server does not get the login. `place` is the key that has url and sha256.
    Raises SourceError if the file is missing or too large, has another hash, or comes from an
    untrusted server; UnreachableError if another try may help.
    """
    digest = hashlib.sha256()
    request = Request(url)
    if login:
        request.add_unredirected_header(*login.header)
    opener = urllib.request.build_opener(_SameServer(login.header[0] if login else ""))
    count = 0
    try:
        with (
            opener.open(request, timeout=limits.silence) as answer,
            target.open("wb") as file,
        ):
            while chunk := answer.read(_CHUNK):
                count += len(chunk)
                if count > limits.download:
                    raise SourceError(f"it is larger than {size(limits.download)}")
                digest.update(chunk)
                file.write(chunk)
            # A cut connection must not look like a short file.
            missing = answer.length
    except urllib.error.HTTPError as error:
        words = f"HTTP {error.code} {error.reason}"
        if error.code in (401, 403):
            raise SourceError(refused(words, login, place)) from None
        if error.code == 404:
            words += not_shown_to(login)
        if 400 <= error.code < 500 and error.code not in _PASSING:
            raise SourceError(words) from None
        raise UnreachableError(words) from None
    except (OSError, http.client.HTTPException) as error:
        raise of_connection(error) from None
    if missing:
        raise UnreachableError(f"the connection ended {missing} bytes early")
    if digest.hexdigest() != sha256.lower():
        raise SourceError(
            f"its sha256 is {digest.hexdigest()}, but {place}.sha256 says {sha256}: "
            "either it has changed since, or another file was meant"
        )


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirects. One that stays on its server takes the header `name` along."""

    def __init__(self, name: str) -> None:
        self._name = name.capitalize()  # as urllib keeps it

    def redirect_request(
        self, req: Request, fp: Any, code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        next_one = super().redirect_request(req, fp, code, msg, headers, newurl)
        value = req.unredirected_hdrs.get(self._name)
        if next_one and value and _server(newurl) == _server(req.full_url):
            next_one.add_unredirected_header(self._name, value)
        return next_one


def _server(url: str) -> tuple[str, str]:
    return urlsplit(url)[:2]


def name_of(url: str) -> str:
    """The last part of a URL's path."""
    return unquote(urlsplit(url).path).rpartition("/")[2]
