"""Checks out one commit of a Git repository over HTTP(S), with dulwich: the image has no git."""

from __future__ import annotations

import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .errors import SourceError, UnreachableError, of_connection
from .limits import Limits, size
from .login import Login, not_shown_to, refused
from .writing import Writer

# How dulwich tells of this answer.
_FORBIDDEN = "unexpected http resp 403 "


def check_out(
    url: str,
    commit: str,
    directory: Path,
    scratch: Path,
    limits: Limits,
    log: Callable[[str], None],
    login: Login | None,
) -> None:
    """Write the files of `commit` (40 hex digits) below `directory`; `scratch` is for the objects.

    It requests only the commit, or all branches and tags if the server gives no single commit. It
    leaves out links and submodules and logs their names. Raises SourceError if the commit is
    missing or the server is untrusted, UnreachableError if another try may help.
    """
    from dulwich.client import HttpGitClient, HTTPUnauthorized
    from dulwich.errors import (
        ApplyDeltaError,
        ChecksumMismatch,
        FileFormatException,
        GitProtocolError,
        NotGitRepository,
    )
    from dulwich.object_store import iter_tree_contents
    from dulwich.objects import Blob, Commit, ObjectID
    from dulwich.repo import Repo
    from urllib3.exceptions import HTTPError

    scratch.mkdir()
    wanted = ObjectID(commit.lower().encode())
    try:
        with Repo.init_bare(scratch) as repo:
            name, password = (login.user if login else None) or (None, None)
            client = HttpGitClient(url, timeout=limits.silence, username=name, password=password)
            try:
                _fetch(client, repo, limits, wanted)
            except GitProtocolError as error:
                if _FORBIDDEN in str(error):
                    raise SourceError(refused("HTTP 403", login)) from None
                log("this server gives no single commit: asking for all branches and tags")
                _fetch(client, repo, limits, None)
            store = repo.object_store
            found = store[wanted] if wanted in store else None  # noqa: SIM401  (it has no get)
            if not isinstance(found, Commit):
                raise SourceError(f"there is no commit {commit} in it")
            writer = Writer(directory, limits)
            left_out = []
            for entry in iter_tree_contents(store, found.tree):
                name = entry.path.decode("utf-8", "surrogateescape")
                blob = store[entry.sha] if stat.S_ISREG(entry.mode) else None
                if isinstance(blob, Blob):
                    writer.write(name, [blob.data])
                else:
                    left_out.append(name)
            if left_out:
                log(f"left out, being links or submodules: {', '.join(left_out)}")
    except NotGitRepository:
        raise SourceError(f"there is no Git repository{not_shown_to(login)}") from None
    except HTTPUnauthorized:
        raise SourceError(refused("HTTP 401", login)) from None
    except (ApplyDeltaError, ChecksumMismatch, FileFormatException) as error:
        raise UnreachableError(f"what came is damaged: {error}") from None
    except (GitProtocolError, HTTPError, OSError) as error:
        raise of_connection(error) from None


def _fetch(client: Any, repo: Any, limits: Limits, commit: bytes | None) -> None:
    """Fetch a commit's objects into the repository; without a commit, those of all branches and
    tags.
    """
    pack, keep, abort = repo.object_store.add_pack()
    count = 0

    def take(data: bytes) -> int:
        nonlocal count
        count += len(data)
        if count > limits.download:
            raise SourceError(f"it is larger than {size(limits.download)}")
        written: int = pack.write(data)
        return written

    def wants(refs: Mapping[bytes, bytes], depth: int | None = None) -> list[bytes]:
        if commit is not None:
            return [commit]
        return sorted({sha for name, sha in refs.items() if not name.endswith(b"^{}")})

    try:
        client.fetch_pack(
            "", wants, repo.get_graph_walker(), take, depth=1 if commit is not None else None
        )
    except BaseException:
        abort()
        raise
    keep()
