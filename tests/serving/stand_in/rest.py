"""The REST side: predict, status, metadata, and the page of metrics.

model_servers/http_server.cc, http_rest_api_handler.cc, http_rest_api_util.cc.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

from google.protobuf import json_format
from tensorflow_serving.apis.get_model_metadata_pb2 import GetModelMetadataRequest, SignatureDefMap
from tensorflow_serving.apis.get_model_status_pb2 import GetModelStatusRequest
from tensorflow_serving.apis.model_pb2 import ModelSpec
from tensorflow_serving.apis.predict_pb2 import PredictRequest

from tests.serving.stand_in import HEADER, HEADER_WORDS, json_tensors, metrics, services
from tests.serving.stand_in.core import Core
from tests.serving.stand_in.metrics import Metrics
from tests.serving.stand_in.served import DEFAULT_SIGNATURE, Served
from tests.serving.stand_in.status import StatusError, invalid

_WHICH = r"(?:(?:/versions/(?P<version>\d+))|(?:/labels/(?P<label>[^/:]+)))?"
_PREDICTION = re.compile(
    rf"(?i)/v1/models/(?P<name>[^/:]+){_WHICH}:(?P<method>classify|regress|predict)"
)
_STATUS = re.compile(rf"(?i)/v1/models(?:/(?P<name>[^/:]+))?{_WHICH}(?:/(?P<method>metadata))?")
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}


@dataclass(frozen=True)
class Rest:
    """What the REST side needs. `metrics_path` is empty where there is no page of metrics."""

    core: Core[Served]
    metrics: Metrics
    timeout_ms: int
    cors: bool
    metrics_path: str

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, str]:
        """Status code and text of what was asked below /v1/."""
        began, name, api = time.monotonic(), "", ""
        try:
            found = _parsed(method, path)
            name, api = unquote(found["name"] or ""), (found["method"] or "").lower()
            text = self._text(found, name, body)
        except StatusError as error:
            self.metrics.count(metrics.REQUESTS, name, error.code)
            return error.http, json.dumps({"error": error.words}, indent=4, ensure_ascii=False)
        api = api if method == "POST" else ""
        self.metrics.time(metrics.LATENCY, time.monotonic() - began, name, api, "REST")
        self.metrics.count(metrics.REQUESTS, name, "OK")
        return 200, text

    def _text(self, found: Mapping[str, str | None], name: str, body: bytes) -> str:
        spec = ModelSpec(name=name)
        if found["version"]:
            if int(found["version"]) >= 2**63:
                raise invalid(f"Failed to convert version: {found['version']} to numeric.")
            spec.version.value = int(found["version"])
        if found["label"]:
            spec.version_label = unquote(found["label"])
        what = (found["method"] or "status").lower()
        if what == "predict":
            return self._predicted(spec, body)
        if not name:
            raise invalid("Missing model name in request.")
        if what == "metadata":
            return self._metadata(spec)
        if what == "status":
            answer = services.status_of(self.core, GetModelStatusRequest(model_spec=spec))
            return str(json_format.MessageToJson(answer, always_print_fields_with_no_presence=True))
        raise StatusError("UNIMPLEMENTED", f"the stand-in does not implement {what}")

    def _predicted(self, spec: ModelSpec, body: bytes) -> str:
        request = PredictRequest(model_spec=spec)

        def inputs_of(signature: str) -> json_tensors.Inputs:
            signature = signature or DEFAULT_SIGNATURE
            with self.core.held(spec) as (_, model):
                if signature not in model.session.signatures:
                    words = f'Serving signature name: "{signature}" not found in signature def'
                    raise invalid(words)
                found: json_tensors.Inputs = model.session.signatures[signature].inputs
                return found

        by_rows = json_tensors.fill(body, request, inputs_of)
        answer = services.predicted(self.core, request, self.timeout_ms)
        return json_tensors.text_of(answer.outputs, by_rows)

    def _metadata(self, spec: ModelSpec) -> str:
        asked = GetModelMetadataRequest(model_spec=spec, metadata_field=[services.SIGNATURES])
        answer = services.metadata(self.core, asked)
        signatures = SignatureDefMap()
        answer.metadata[services.SIGNATURES].Unpack(signatures)
        spec_text, text = (
            json_format.MessageToJson(
                message,
                preserving_proto_field_name=True,
                always_print_fields_with_no_presence=True,
            )
            for message in (answer.model_spec, signatures)
        )
        return f'{{\n"model_spec":{spec_text},\n"metadata": {{"signature_def": {text}}}\n}}\n'


def _parsed(method: str, path: str) -> Mapping[str, str | None]:
    pattern = {"POST": _PREDICTION, "GET": _STATUS}.get(method)
    found = pattern.fullmatch(path) if pattern else None
    if not found:
        raise invalid(f"Malformed request: {method} {path}")
    return found.groupdict()


class _Server(ThreadingHTTPServer):
    """Listens on all addresses."""

    daemon_threads = True
    request_queue_size = 128

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_name, self.server_port = "stand-in", self.server_address[1]


class _Server6(_Server):
    """Listens on all addresses, those of IPv6 too."""

    address_family = socket.AF_INET6

    def server_bind(self) -> None:
        self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        super().server_bind()


def start(rest: Rest, port: int, threads: int) -> None:
    """Serve in a thread. Raises OSError where the port can't be had."""
    free = threading.BoundedSemaphore(threads)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "tf-serving-stand-in", ""

        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            path = self.path.partition("?")[0]
            with free:
                status, kind, text = self._answer(path, body)
            # A model's strings may be no UTF-8.
            data = text.encode(errors="surrogateescape")
            self.send_response(status)
            self.send_header(HEADER, HEADER_WORDS)
            self.send_header("Content-Type", kind)
            for name, value in _CORS.items() if rest.cors else ():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def _answer(self, path: str, body: bytes) -> tuple[int, str, str]:
            if rest.metrics_path and path == rest.metrics_path:
                return 200, "text/plain", rest.metrics.page()
            if not path.lower().startswith("/v1/"):
                return 404, "text/html", "<html><body>404 Not Found</body></html>"
            if self.command == "OPTIONS":
                if re.search("https?://", self.headers.get("Origin", "")):
                    return 200, "application/json", ""
                return 400, "application/json", ""
            status, text = rest.answer(self.command, path, body)
            return status, "application/json", text

        do_GET = do_POST = do_OPTIONS = do_PUT = do_DELETE = _serve  # noqa: N815

        def log_message(self, *_: Any) -> None:
            """The true server logs no requests, either."""

    server: _Server
    try:
        server = _Server6(("::", port), Handler)
    except OSError:
        server = _Server(("0.0.0.0", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
