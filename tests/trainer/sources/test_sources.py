"""What a source becomes: files below one directory, or words that say what is wrong with it."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from dulwich.repo import MemoryRepo
from tf_cluster_trainer.config import Download, Files, GitCommit, Source
from tf_cluster_trainer.sources.code import fetched
from tf_cluster_trainer.sources.errors import SourceError, StoppedError, UnreachableError
from tf_cluster_trainer.sources.fetch import fetch
from tf_cluster_trainer.sources.limits import Limits

from .serving import commit, content, git_serving, serving

QUICK = Limits(tries=3, pause=0.01, silence=2.0)
PLAIN = stat.S_IFREG | 0o644


def tar(*members: tuple[str, bytes] | tarfile.TarInfo) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
                continue
            info = tarfile.TarInfo(member[0])
            info.size = len(member[1])
            archive.addfile(info, io.BytesIO(member[1]))
    return made.getvalue()


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members:
            archive.writestr(name, data)
    return made.getvalue()


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def linked(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


def of(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


class Fetching:
    """One fetch into an empty directory; what was said and waited on the way."""

    def __init__(self, tmp_path: Path) -> None:
        self.code = tmp_path / "code"
        self.code.mkdir()
        self._scratch = tmp_path / "scratch"
        self.said: list[str] = []
        self.waited: list[float] = []

    def __call__(self, source: Source, limits: Limits = QUICK) -> dict[str, str]:
        fetch(source, self.code, self._scratch, limits, self.said.append, self.waited.append)
        return self.files()

    def files(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.code)): path.read_text()
            for path in sorted(self.code.rglob("*"))
            if path.is_file()
        }

    def body(
        self, body: bytes, name: str = "code.tar.gz", limits: Limits = QUICK
    ) -> dict[str, str]:
        with serving(content(body)) as (address, _):
            return self(Download(f"{address}/{name}", of(body)), limits)


@pytest.fixture
def fetching(tmp_path: Path) -> Fetching:
    return Fetching(tmp_path)


TWO = {"train.py": "print(1)", "lib/more.py": "x = 1"}


def test_files_of_the_configuration_are_written(fetching: Fetching) -> None:
    assert fetching(Files(TWO)) == TWO


@pytest.mark.parametrize("pack", [tar, zipped])
def test_an_archive_is_unpacked(fetching: Fetching, pack: Callable[..., bytes]) -> None:
    body = pack(("train.py", b"print(1)"), ("lib/more.py", b"x = 1"))
    assert fetching.body(body, "v1.0?name=any") == TWO


def test_a_single_file_keeps_its_name(fetching: Fetching) -> None:
    assert fetching.body(b"print(1)", "a%20b/train.py?raw=1") == {"train.py": "print(1)"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (tar(("../out.py", b"")), "'../out.py', which leads out of its directory"),
        (tar(("/etc/out.py", b"")), "'/etc/out.py', which leads out of its directory"),
        (tar(("a/../../out.py", b"")), "leads out of its directory"),
        (tar(special("l", tarfile.SYMTYPE, "/etc")), "'l' in it is a link or no plain file"),
        (tar(special("l", tarfile.LNKTYPE, "x")), "'l' in it is a link or no plain file"),
        (tar(special("d", tarfile.CHRTYPE)), "'d' in it is a link or no plain file"),
        (tar(special("../up", tarfile.DIRTYPE)), "leads out of its directory"),
        (tar(("a", b"1"), ("a", b"2")), "it has a twice"),
        (tar(("a", b"1"), ("a/b", b"2")), "it has a twice"),
        (zipped(("../out.py", b"")), "leads out of its directory"),
        (zipped(("a\\..\\b", b"")), "leads out of its directory"),
        (zipped((linked("l"), b"/etc")), "'l' in it is a link or no plain file"),
        (tar(("a", b"x" * 100))[:-20], "the archive can't be read"),
        (b"\x1f\x8bnonsense", "the archive can't be read"),
        (b"PK\x03\x04nonsense", "the archive can't be read"),
        (b"<html>", "it is no .tar.gz, no .zip and no .py"),
    ],
    ids=lambda value: value if isinstance(value, str) else "body",
)
def test_an_archive_that_is_not_sound_is_refused(
    fetching: Fetching, tmp_path: Path, body: bytes, words: str
) -> None:
    with pytest.raises(SourceError, match=r"^program\.source: http") as refused:
        fetching.body(body)
    assert words in str(refused.value)
    assert not list(tmp_path.rglob("out.py"))
    assert fetching.waited == []


@pytest.mark.parametrize("pack", [tar, zipped])
@pytest.mark.parametrize(
    ("limits", "words"),
    [
        (Limits(unpacked=150), "its files have more than 150 bytes together"),
        (Limits(files=1), "there are more than 1 files in it"),
        (Limits(download=50), "it is larger than 50 bytes"),
    ],
)
def test_what_is_too_much_is_refused(
    fetching: Fetching, pack: Callable[..., bytes], limits: Limits, words: str
) -> None:
    with pytest.raises(SourceError, match=words):
        fetching.body(pack(("a", bytes(100)), ("b", bytes(100))), limits=limits)


def test_another_hash_names_both(fetching: Fetching) -> None:
    with serving(content(b"x")) as (address, asked), pytest.raises(SourceError) as refused:
        fetching(Download(f"{address}/a.py", "0" * 64))
    assert of(b"x") in str(refused.value)
    assert "0" * 64 in str(refused.value)
    assert fetching.files() == {}
    assert len(asked) == 1


def test_a_hash_may_be_in_capitals(fetching: Fetching) -> None:
    with serving(content(b"x")) as (address, _):
        assert fetching(Download(f"{address}/a.py", of(b"x").upper())) == {"a.py": "x"}


@pytest.mark.parametrize("status", [401, 403, 404, 410])
def test_what_is_not_there_is_not_asked_for_again(fetching: Fetching, status: int) -> None:
    with (
        serving(content(b"", status)) as (address, asked),
        pytest.raises(SourceError, match=f"HTTP {status}"),
    ):
        fetching(Download(f"{address}/a.py", of(b"")))
    assert len(asked) == 1


@pytest.mark.parametrize("answer", [content(b"", 503), content(b"", 429), content(b"x", cut=5)])
def test_a_server_in_trouble_is_asked_again_and_then_given_up(
    fetching: Fetching, answer: Callable[[BaseHTTPRequestHandler], None]
) -> None:
    with (
        serving(answer) as (address, asked),
        pytest.raises(UnreachableError, match="given up after 3 tries"),
    ):
        fetching(Download(f"{address}/a.py", of(b"x")))
    assert len(asked) == 3
    assert fetching.waited == [0.01, 0.02]


def test_a_server_that_recovers_is_no_error(fetching: Fetching) -> None:
    answers = [content(b"", 503), content(b"x", cut=5), content(b"x")]
    with serving(lambda visit: answers.pop(0)(visit)) as (address, _):
        assert fetching(Download(f"{address}/a.py", of(b"x"))) == {"a.py": "x"}
    assert "trying again in 0.01 s" in fetching.said[0]


def test_a_name_that_does_not_resolve_is_given_up(fetching: Fetching) -> None:
    with pytest.raises(UnreachableError, match="given up after 3 tries"):
        fetching(Download("http://nowhere.invalid/a.py", of(b"")))


def test_a_commit_is_checked_out_whichever_branch_has_it(fetching: Fetching) -> None:
    repository = MemoryRepo()
    old = commit(repository, {"train.py": (PLAIN, b"old")})
    commit(repository, {"train.py": (PLAIN, b"new")})
    with git_serving(repository) as address:
        assert fetching(GitCommit(address, old)) == {"train.py": "old"}


def test_links_of_a_repository_are_left_out_and_named(fetching: Fetching) -> None:
    repository = MemoryRepo()
    made = commit(repository, {"train.py": (PLAIN, b"x"), "passwd": (stat.S_IFLNK, b"/etc/passwd")})
    with git_serving(repository) as address:
        assert fetching(GitCommit(address, made)) == {"train.py": "x"}
    assert "left out, being links or submodules: passwd" in fetching.said


def test_a_commit_that_is_not_there_is_refused(fetching: Fetching) -> None:
    repository = MemoryRepo()
    commit(repository, {"train.py": (PLAIN, b"x")})
    with (
        git_serving(repository) as address,
        pytest.raises(SourceError, match=f"there is no commit {'1' * 40} in it"),
    ):
        fetching(GitCommit(address, "1" * 40))


def test_a_repository_that_is_not_there_is_refused(fetching: Fetching) -> None:
    with (
        serving(content(b"", 404)) as (address, _),
        pytest.raises(SourceError, match="there is no Git repository"),
    ):
        fetching(GitCommit(f"{address}/code.git", "1" * 40))


def test_a_git_server_in_trouble_is_given_up(fetching: Fetching) -> None:
    with (
        serving(content(b"", 503)) as (address, _),
        pytest.raises(UnreachableError, match="given up after 3 tries"),
    ):
        fetching(GitCommit(f"{address}/code.git", "1" * 40))


def test_the_directory_is_gone_afterwards() -> None:
    with fetched(Files(TWO), lambda _: None, lambda: False, QUICK) as code:
        assert (code / "train.py").read_text() == "print(1)"
        place = code.parent
    assert not place.exists()


def test_a_fetch_that_hangs_ends_at_its_deadline_or_when_it_is_asked_to() -> None:
    let_go = threading.Event()
    with serving(lambda _: let_go.wait(30) and None) as (address, _):
        source = Download(f"{address}/a.py", of(b""))
        began = time.monotonic()
        with (
            pytest.raises(UnreachableError, match=r"not here after 0.3 s"),
            fetched(source, lambda _: None, lambda: False, Limits(seconds=0.3)),
        ):
            pass
        with (
            pytest.raises(StoppedError),
            fetched(source, lambda _: None, lambda: True, Limits()),
        ):
            pass
        assert time.monotonic() - began < 20
        let_go.set()
