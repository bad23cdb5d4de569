"""An admission webhook on the loopback interface that refuses whatever it is asked about."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.support.certificate import self_signed


@contextmanager
def refusing_webhook(folder: Path, why: str) -> Iterator[dict[str, str]]:
    """Its `clientConfig`, for an API server on this machine."""
    key, certificate = self_signed(folder, "127.0.0.1", "IP:127.0.0.1")

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = {"message": why}
            response = {"uid": review["request"]["uid"], "allowed": False, "status": status}
            kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
            body = json.dumps({**kind, "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield {
            "url": f"https://127.0.0.1:{server.server_port}/",
            "caBundle": base64.b64encode(certificate.read_bytes()).decode(),
        }
    finally:
        server.shutdown()
        server.server_close()
