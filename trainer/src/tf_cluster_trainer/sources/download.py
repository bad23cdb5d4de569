"""Downloads a file over HTTP and checks its hash."""

from __future__ import annotations

import hashlib
import http.client
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import unquote, urlsplit

from .errors import SourceError, UnreachableError, of_connection
from .limits import Limits, size

_CHUNK = 256 * 1024
# HTTP 4xx answers that a later try may change.
_PASSING = {408, 425, 429}


def download(url: str, sha256: str, target: Path, limits: Limits) -> None:
    """Write the file at `url` to `target`; follow redirects, and use the environment's proxies.

    Raises SourceError if the file is missing or too large, has another hash, or comes from an
    untrusted server; UnreachableError if another try may help.
    """
    digest = hashlib.sha256()
    count = 0
    try:
        with (
            urllib.request.urlopen(url, timeout=limits.silence) as answer,
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
        if 400 <= error.code < 500 and error.code not in _PASSING:
            raise SourceError(words) from None
        raise UnreachableError(words) from None
    except (OSError, http.client.HTTPException) as error:
        raise of_connection(error) from None
    if missing:
        raise UnreachableError(f"the connection ended {missing} bytes early")
    if digest.hexdigest() != sha256.lower():
        raise SourceError(
            f"its sha256 is {digest.hexdigest()}, but program.source.sha256 says {sha256}: "
            "either it has changed since, or another file was meant"
        )


def name_of(url: str) -> str:
    """The last part of a URL's path."""
    return unquote(urlsplit(url).path).rpartition("/")[2]
