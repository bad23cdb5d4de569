"""Code that an https server has: whose certificate is trusted, and what is said of one that is not.

The server and its certificate are made here; SSL_CERT_FILE is how a task is told of CAs of its own.
"""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from dulwich.repo import MemoryRepo
from tf_cluster_trainer.config import Download, GitCommit
from tf_cluster_trainer.sources.errors import SourceError

from .serving import commit, content, git_serving, make_certificate, serving
from .test_sources import PLAIN, Fetching, of

Served = Download | GitCommit
Serving = Callable[[Path], AbstractContextManager[Served]]


@contextmanager
def an_address(certificate: Path) -> Iterator[Served]:
    with serving(content(b"x"), certificate) as (address, _):
        yield Download(f"{address}/train.py", of(b"x"))


@contextmanager
def a_repository(certificate: Path) -> Iterator[Served]:
    repository = MemoryRepo()
    made = commit(repository, {"train.py": (PLAIN, b"x")})
    with git_serving(repository, certificate) as address:
        yield GitCommit(address, made)


every_source = pytest.mark.parametrize("served", [an_address, a_repository])


@pytest.fixture
def fetching(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fetching:
    # Python keeps the certificates that it trusted at the first request of the process.
    monkeypatch.setattr(urllib.request, "_opener", None)
    return Fetching(tmp_path)


@every_source
def test_code_comes_from_a_server_whose_certificate_is_trusted(
    fetching: Fetching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Serving
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with served(certificate) as source:
        assert fetching(source) == {"train.py": "x"}


@every_source
def test_a_certificate_that_nobody_trusts_is_refused_at_once_and_says_what_to_set(
    fetching: Fetching, tmp_path: Path, served: Serving
) -> None:
    with served(make_certificate(tmp_path)) as source, pytest.raises(SourceError) as refused:
        fetching(source)
    url = source.url if isinstance(source, Download) else source.repository
    assert str(refused.value).startswith(f"program.source: {url}")
    assert "its certificate is not trusted: self-signed certificate" in str(refused.value)
    assert "SSL_CERT_FILE" in str(refused.value)
    assert fetching.waited == []
    assert fetching.files() == {}


@every_source
def test_a_trusted_certificate_of_another_host_is_refused(
    fetching: Fetching, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: Serving
) -> None:
    certificate = make_certificate(tmp_path, name="DNS:elsewhere.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with (
        served(certificate) as source,
        pytest.raises(SourceError, match=r"its certificate is not trusted: .*127\.0\.0\.1"),
    ):
        fetching(source)
