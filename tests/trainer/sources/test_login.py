"""Private code: the login is a directory of files, and nobody but its server ever sees it."""

from __future__ import annotations

import base64
import http.server
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from dulwich.repo import MemoryRepo
from tf_cluster_trainer.config import Download, Files, GitCommit, Source
from tf_cluster_trainer.sources.errors import SourceError
from tf_cluster_trainer.sources.fetch import fetch
from tf_cluster_trainer.sources.login import login

from .serving import commit, git_serving, make_certificate, moved, serving, to_a_login
from .test_sources import PLAIN, QUICK, of

TOKEN = "glpat-x9Yz31"
BASIC = "Basic " + base64.b64encode(f"ann:{TOKEN}".encode()).decode()


class Private:
    """Fetches of one private source with the files of a login."""

    def __init__(self, tmp_path: Path) -> None:
        self._path = tmp_path
        self._number = 0
        self.said: list[str] = []

    def __call__(self, source: Source, **keys: str) -> dict[str, str]:
        self._number += 1
        place = self._path / str(self._number)
        code, logins = place / "code", place / "login"
        code.mkdir(parents=True)
        logins.mkdir()
        for key, value in keys.items():
            (logins / key).write_text(value)
        fetch(source, code, place / "scratch", QUICK, self.said.append, lambda _: None, logins)
        return {file.name: file.read_text() for file in code.rglob("*") if file.is_file()}

    def refused(self, source: Source, **keys: str) -> str:
        """The words of the refusal, in which no secret stands."""
        with pytest.raises(SourceError) as error:
            self(source, **keys)
        words = str(error.value)
        for text in (words, repr(error.value), *self.said):
            for secret in (TOKEN, "wrong-9", *keys.values()):
                assert secret not in text
            assert base64.b64encode(f"ann:{TOKEN}".encode()).decode() not in text
        return words


@pytest.fixture
def private(tmp_path: Path) -> Private:
    return Private(tmp_path)


@contextmanager
def an_address(name: str = "Authorization", value: str = BASIC) -> Iterator[Source]:
    with serving(to_a_login(name, value, b"x")) as (address, _):
        yield Download(f"{address}/train.py", of(b"x"), "code-login")


@contextmanager
def a_repository(refusal: str = "401 Unauthorized") -> Iterator[Source]:
    repository = MemoryRepo()
    made = commit(repository, {"train.py": (PLAIN, b"x")})
    with git_serving(repository, login=("ann", TOKEN), refusal=refusal) as address:
        yield GitCommit(address, made, "code-login")


every_source = pytest.mark.parametrize("served", [an_address, a_repository])
Serving = Callable[[], AbstractContextManager[Source]]


@every_source
def test_a_user_and_password_open_a_source(private: Private, served: Serving) -> None:
    with served() as source:
        # `kubectl create secret --from-file` keeps the new line at a file's end.
        assert private(source, username="ann", password=f"{TOKEN}\n") == {"train.py": "x"}


@every_source
def test_another_password_is_refused_and_named_by_its_keys(
    private: Private, served: Serving
) -> None:
    with served() as source:
        words = private.refused(source, username="ann", password="wrong-9")
    assert "program.source: http" in words
    assert "HTTP 401" in words
    assert "refuses the login of Secret code-login (keys username and password)" in words


@every_source
def test_without_a_login_it_says_which_value_names_one(private: Private, served: Serving) -> None:
    with served() as source:
        named = (
            Download(source.url, source.sha256)
            if isinstance(source, Download)
            else GitCommit(source.repository, source.commit)  # type: ignore[union-attr]
        )
        words = private.refused(named)
    assert "HTTP 401" in words
    assert "it asks for a login" in words
    assert "program.source.secretName names a Secret with a login" in words


@every_source
@pytest.mark.parametrize(
    ("keys", "has"),
    [
        ({}, "has none of its keys"),
        ({"username": "ann"}, "has username alone"),
        ({"password": TOKEN}, "has password alone"),
        ({"username": "", "token": "\n"}, "has none of its keys"),
    ],
)
def test_a_secret_without_its_keys_is_refused_before_anything_is_asked(
    private: Private, served: Serving, keys: dict[str, str], has: str
) -> None:
    with served() as source, pytest.raises(SourceError) as error:
        private(source, **keys)
    words = str(error.value)
    assert "program.source.secretName is code-login" in words
    assert has in words
    assert "username and password, or token, or (for program.source.url) header" in words
    assert "TF_CLUSTER_SOURCE_LOGIN" in words
    assert TOKEN not in words


def test_a_directory_that_is_not_there_says_so(private: Private, tmp_path: Path) -> None:
    source = GitCommit("http://127.0.0.1:9/code.git", "1" * 40, "code-login")
    with pytest.raises(SourceError, match="has none of its keys"):
        login(source, tmp_path / "nowhere")


def test_a_token_alone_opens_git(private: Private) -> None:
    repository = MemoryRepo()
    made = commit(repository, {"train.py": (PLAIN, b"x")})
    with git_serving(repository, login=("git", TOKEN)) as address:
        source = GitCommit(address, made, "code-login")
        assert private(source, token=TOKEN) == {"train.py": "x"}
        words = private.refused(source, token="wrong-9")
    assert "refuses the login of Secret code-login (key token)" in words


def test_a_token_with_a_user_name_is_its_password(private: Private) -> None:
    with a_repository() as source:
        assert private(source, username="ann", token=TOKEN) == {"train.py": "x"}


def test_a_token_alone_opens_an_address_as_a_bearer(private: Private) -> None:
    with an_address(value=f"Bearer {TOKEN}") as source:
        assert private(source, token=TOKEN) == {"train.py": "x"}


def test_a_header_of_any_name_opens_an_address(private: Private) -> None:
    with an_address("PRIVATE-TOKEN", TOKEN) as source:
        assert private(source, header=f"PRIVATE-TOKEN: {TOKEN}\n") == {"train.py": "x"}
        words = private.refused(source, header="PRIVATE-TOKEN: wrong-9")
    assert "refuses the login of Secret code-login (key header)" in words


def test_a_header_is_not_for_git(private: Private) -> None:
    with a_repository() as source, pytest.raises(SourceError, match="has header alone"):
        private(source, header=f"Authorization: {BASIC}")


@pytest.mark.parametrize("header", [TOKEN, f": {TOKEN}", "X:", f"X Y: {TOKEN}"])
def test_a_line_that_is_no_header_is_refused_without_showing_it(
    private: Private, header: str
) -> None:
    with an_address() as source:
        words = private.refused(source, header=header) if header != "X:" else ""
        with pytest.raises(SourceError, match="is no line of the form 'NAME: value'"):
            private(source, header=header)
    assert TOKEN not in words


@pytest.mark.parametrize("token", [f"{TOKEN}\nX-Other: 1", f"{TOKEN}ä"])
def test_a_token_that_no_header_can_hold_is_refused_without_showing_it(
    private: Private, token: str
) -> None:
    for serve in (an_address, a_repository):
        with serve() as source:
            words = private.refused(source, token=token)
        assert "key token of Secret code-login has other than plain characters" in words


def test_a_secret_that_may_not_be_read_says_so(private: Private, tmp_path: Path) -> None:
    (tmp_path / "token").mkdir()  # who may read everything can't read this as a file either
    source = Download("http://127.0.0.1:9/a.py", of(b""), "code-login")
    with pytest.raises(SourceError, match="key token of Secret code-login can't be read"):
        login(source, tmp_path)


@pytest.mark.parametrize(
    ("served", "words"),
    [
        (lambda: a_repository("403 Forbidden"), "HTTP 403: the server refuses the login"),
        (lambda: a_repository("404 Not Found"), "no Git repository, or the login of Secret"),
    ],
)
def test_git_servers_that_refuse_in_other_ways(
    private: Private, served: Serving, words: str
) -> None:
    with served() as source:
        assert words in private.refused(source, token="wrong-9")


@pytest.mark.parametrize(
    ("status", "words"), [(403, "refuses the login of"), (404, "or the login of Secret")]
)
def test_addresses_that_refuse_in_other_ways(private: Private, status: int, words: str) -> None:
    with serving(to_a_login("Authorization", BASIC, b"x", status)) as (address, _):
        source = Download(f"{address}/train.py", of(b"x"), "code-login")
        assert words in private.refused(source, token="wrong-9")


def test_a_server_that_repeats_the_login_does_not_bring_it_into_a_message(
    private: Private,
) -> None:
    with an_address() as source:  # its refusal is: 401 not Bearer wrong-9
        assert "HTTP 401 not ***: the server refuses" in private.refused(source, token="wrong-9")


def test_a_redirect_on_the_same_server_keeps_the_login(private: Private) -> None:
    def answer(visit: http.server.BaseHTTPRequestHandler) -> None:
        known = to_a_login("Authorization", BASIC, b"x")
        (moved("/new/train.py") if visit.path.startswith("/old/") else known)(visit)

    with serving(answer) as (address, asked):
        source = Download(f"{address}/old/train.py", of(b"x"), "code-login")
        assert private(source, username="ann", password=TOKEN) == {"train.py": "x"}
    assert asked == ["/old/train.py", "/new/train.py"]


@pytest.mark.parametrize("header", ["Authorization", "PRIVATE-TOKEN"])
def test_a_redirect_to_another_server_does_not_take_the_login_along(
    private: Private, header: str
) -> None:
    seen: list[str | None] = []

    def stranger(visit: http.server.BaseHTTPRequestHandler) -> None:
        seen.append(visit.headers.get(header))
        to_a_login("Host", visit.headers["Host"], b"x")(visit)

    with (
        serving(stranger) as (elsewhere, _),
        serving(moved(f"{elsewhere}/train.py")) as (address, _),
    ):
        source = Download(f"{address}/train.py", of(b"x"), "code-login")
        assert private(source, header=f"{header}: {TOKEN}") == {"train.py": "x"}
    assert seen == [None]


def test_a_git_redirect_to_another_server_does_not_take_the_login_along(private: Private) -> None:
    seen: list[str | None] = []

    def stranger(visit: http.server.BaseHTTPRequestHandler) -> None:
        seen.append(visit.headers.get("Authorization"))
        visit.send_error(404)

    with (
        serving(stranger) as (elsewhere, _),
        serving(moved(f"{elsewhere}/code.git/info/refs?service=git-upload-pack")) as (address, _),
    ):
        private.refused(GitCommit(f"{address}/code.git", "1" * 40, "code-login"), token=TOKEN)
    assert seen
    assert set(seen) == {None}


def test_over_https_nothing_is_said_of_clear_text_and_over_http_it_is(
    private: Private, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    repository = MemoryRepo()
    made = commit(repository, {"train.py": (PLAIN, b"x")})
    with git_serving(repository, certificate, login=("git", TOKEN)) as address:
        assert private(GitCommit(address, made, "code-login"), token=TOKEN) == {"train.py": "x"}
    assert private.said == []
    with a_repository() as source:
        private(source, username="ann", token=TOKEN)
    (line,) = private.said
    assert "Secret code-login (keys username and token) travels in clear text" in line


def test_files_of_the_configuration_need_no_login(tmp_path: Path) -> None:
    assert login(Files({"a.py": ""}), tmp_path / "nowhere") is None


def test_a_login_does_not_show_itself(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    for source in (Download("http://a/b", "", "s"), GitCommit("http://a/b", "", "s")):
        known = login(source, tmp_path)
        assert known is not None
        assert TOKEN not in repr(known)
