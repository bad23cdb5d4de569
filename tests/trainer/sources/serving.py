"""Servers on the loopback interface: files with faults, and Git repositories."""

from __future__ import annotations

import base64
import shutil
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import pytest
from dulwich.objects import Blob, Commit, ObjectID, Tree
from dulwich.repo import MemoryRepo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

OPENSSL = (
    *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
    *("-subj", "/CN=test"),
)
Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def serving(answer: Answer, certificate: Path | None = None) -> Iterator[tuple[str, list[str]]]:
    """The address of a server that answers so, and the paths it was asked for.

    With a certificate (and its key in the same file) it is an https server.
    """
    asked: list[str] = []

    class Visit(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            answer(self)

        def log_message(self, format: str, *args: Any) -> None:
            """Tests print what they need."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Visit)
    with _running(server, certificate) as address:
        yield address, asked


def content(body: bytes, status: int = 200, cut: int = 0) -> Answer:
    """An answer of this body, of which `cut` bytes are announced and never come."""

    def answer(visit: BaseHTTPRequestHandler) -> None:
        visit.send_response(status)
        visit.send_header("Content-Length", str(len(body) + cut))
        visit.end_headers()
        visit.wfile.write(body)

    return answer


def to_a_login(name: str, value: str, body: bytes, refusal: int = 401) -> Answer:
    """This body for who sends the header; a refusal, that repeats what was sent, for others."""

    def answer(visit: BaseHTTPRequestHandler) -> None:
        if visit.headers.get(name) == value:
            return content(body)(visit)
        visit.send_response(refusal, f"not {visit.headers.get(name)}")
        visit.send_header("Content-Length", "0")
        visit.end_headers()

    return answer


def moved(to: str) -> Answer:
    """A redirect to another address."""

    def answer(visit: BaseHTTPRequestHandler) -> None:
        visit.send_response(302)
        visit.send_header("Location", to)
        visit.send_header("Content-Length", "0")
        visit.end_headers()

    return answer


@contextmanager
def git_serving(
    repository: MemoryRepo,
    certificate: Path | None = None,
    login: tuple[str, str] | None = None,
    refusal: str = "401 Unauthorized",
) -> Iterator[str]:
    """The address of a Git server with this one repository at /code.git.

    With a login (user, password) nobody else is served.
    """

    class Visit(WSGIRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            """Tests print what they need."""

    server = WSGIServer(("127.0.0.1", 0), Visit)
    app = make_wsgi_chain(DictBackend({"/code.git": repository}))

    def guarded(environ: dict[str, Any], start: Any) -> Any:
        sent = "Basic " + base64.b64encode(":".join(login or ()).encode()).decode()
        if login is None or environ.get("HTTP_AUTHORIZATION") == sent:
            return app(environ, start)
        start(refusal, [("Content-Length", "0"), ("WWW-Authenticate", 'Basic realm="code"')])
        return []

    server.set_app(guarded)
    with _running(server, certificate) as address:
        yield f"{address}/code.git"


@contextmanager
def _running(server: TCPServer, certificate: Path | None) -> Iterator[str]:
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        scheme = "https" if certificate else "http"
        yield f"{scheme}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def make_certificate(directory: Path, name: str = "IP:127.0.0.1") -> Path:
    """A certificate for a host, signed by itself, and its key in one file."""
    if not shutil.which("openssl"):
        pytest.skip("needs the openssl command to make a certificate")
    file, made = directory / "server.pem", directory / "certificate.pem"
    subprocess.run(
        (*OPENSSL, "-addext", f"subjectAltName={name}", "-keyout", file, "-out", made),
        check=True,
        capture_output=True,
    )
    file.write_text(file.read_text() + made.read_text())
    return file


def commit(repository: MemoryRepo, files: dict[str, tuple[int, bytes]]) -> str:
    """Add a commit of these files (name: mode, content; no folders) to the branch main."""
    tree = Tree()
    for name, (mode, data) in files.items():
        blob = Blob.from_string(data)
        repository.object_store.add_object(blob)
        tree.add(name.encode(), mode, blob.id)
    repository.object_store.add_object(tree)
    made = Commit()
    made.tree = tree.id
    made.author = made.committer = b"A <a@example.com>"
    made.author_time = made.commit_time = 0
    made.author_timezone = made.commit_timezone = 0
    made.message = b"a commit"
    before = repository.refs.as_dict().get(b"refs/heads/main")
    made.parents = [ObjectID(before)] if before else []
    repository.object_store.add_object(made)
    repository.refs[b"refs/heads/main"] = made.id
    return made.id.decode()
