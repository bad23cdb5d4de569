"""A proxy beside TensorBoard that asks for a name and a password, as a user's own would.

It plays the part of oauth2-proxy or nginx, which the test machine has no image of: `python
login_proxy.py PORT TO NAME PASSWORD` answers on PORT and asks what is at TO for those who may.
"""

import base64
import sys
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, TO, NAME, PASSWORD = sys.argv[1:]
KEY = "Basic " + base64.b64encode(f"{NAME}:{PASSWORD}".encode()).decode()


class Door(BaseHTTPRequestHandler):
    """One request."""

    def do_GET(self) -> None:
        """Pass a page on, or ask who it is."""
        if self.headers.get("Authorization") != KEY:
            self.send_response(401)
            self.send_header("WWW-Authenticate", "Basic")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        with urllib.request.urlopen(TO + self.path, timeout=240) as answer:
            body = answer.read()
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.headers["Content-Type"])
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


ThreadingHTTPServer(("", int(PORT)), Door).serve_forever()
