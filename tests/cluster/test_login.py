"""The logins that docs/tensorboard.md puts in front of TensorBoard, each with who may not enter.

And the notebook behind the Ingress of docs/notebook.md, whose cells run by a WebSocket. Traefik is
a process of this machine, not a pod: it finds its Ingress, HTTPRoute and Middleware by the API
server and reaches TensorBoard's pod as a node does. The values are the page's own.
"""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import os
import re
import ssl
import subprocess
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import websocket
import yaml

from tests.cluster.conftest import IMAGE, ROOT, MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.machine_tools import tool_path
from tests.cluster.strangers import assert_kept_out, assert_let_in
from tests.ports import free_port
from tests.support.certificate import self_signed
from tests.support.waiting import HANG_SECONDS, eventually
from tests.tied import tied_to_us
from tools.machine import tools

pytestmark = pytest.mark.cluster

PAGE = (ROOT / "docs" / "tensorboard.md").read_text().partition("\n## A login\n")[2]
BY_INGRESS, BY_ROUTE, BY_PROXY = (
    yaml.safe_load(block)["tensorboard"]
    for block in re.findall(r"^    tensorboard:\n(?:     .*\n)+", PAGE, re.MULTILINE)
)
(LAB,) = (
    yaml.safe_load(block)["notebook"]
    for block in re.findall(
        r"^```yaml\n(notebook:\n  enabled: true\n  pathPrefix: (?:.*\n)+?)```",
        (ROOT / "docs" / "notebook.md").read_text(),
        re.MULTILINE,
    )
)
HOST = "digits.example.com"
SECRET = "not-for-everyone"
CONTROLLER = "traefik.io/{}-controller"
DEFINITIONS = "docs/content/reference/dynamic-configuration/kubernetes-crd-definition-v1.yml"


@pytest.fixture(scope="module")
def install(
    make_release: Callable[[str], Release], make_values: MakeValues
) -> Callable[[str, dict[str, Any]], Release]:
    """A release with these values of TensorBoard, whose pod is there."""

    def with_tensorboard(name: str, tensorboard: dict[str, Any]) -> Release:
        release = make_release(name)
        small = {"requests": {"cpu": "20m", "memory": "64Mi"}}
        shown = {**tensorboard, "resources": small}
        release.install(make_values(name, train={"steps": 10}, extraValues={"tensorboard": shown}))
        eventually("TensorBoard's pod", lambda: release.running("tensorboard"), HANG_SECONDS)
        return release

    return with_tensorboard


def _answer(url: str, password: str = "", host: str = HOST) -> tuple[int, str]:
    """Status and body of a page. LookupError while nobody listens."""
    request = urllib.request.Request(url, headers={"Host": host})
    if password:
        key = base64.b64encode(f"someone:{password}".encode()).decode()
        request.add_header("Authorization", f"Basic {key}")
    # Traefik's own certificate: who it is was not asked for here.
    context = ssl._create_unverified_context() if url.startswith("https") else None
    try:
        with urllib.request.urlopen(request, timeout=HANG_SECONDS, context=context) as page:
            return page.status, page.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, ""
    except OSError as error:
        raise LookupError(f"{url}: {error}") from None


def _opens_for_the_right_one_only(url: str, host: str = HOST) -> None:
    def is_shown() -> bool:
        status, body = _answer(url, SECRET, host)
        return status == 200 and "TensorBoard" in body

    def status(path: str, password: str) -> int:
        """Of a page, as soon as one listens: a TensorBoard without CPU may be unready again."""
        page = url.rstrip("/") + path
        return eventually(page, lambda: _answer(page, password, host)[0], HANG_SECONDS)

    eventually("TensorBoard's page, with the password", is_shown, HANG_SECONDS)
    assert status("/", "") == 401
    assert status("/", "a-guess") == 401
    # What the page asks for is behind the same door.
    assert status("/data/runs", "") == 401
    assert status("/data/runs", SECRET) == 200


def _is_shut(release: Release) -> None:
    """A pod that is not the way in reaches TensorBoard by no port."""
    address = release.running("tensorboard")[0]["status"]["podIP"]
    assert_kept_out(release.namespace, address, 6006)


def test_a_proxy_in_the_pod_asks_for_the_password(
    install: Callable[[str, dict[str, Any]], Release], namespace: Namespace, node_address: str
) -> None:
    example = copy.deepcopy(BY_PROXY)
    port = example["service"]["targetPort"]
    (proxy,) = example["sidecars"]
    (secret,) = proxy["envFrom"]
    namespace.apply(_secret(secret["secretRef"]["name"], {"PASSWORD": SECRET}))
    code = (Path(__file__).parent / "login_proxy.py").read_text()
    args = [str(port), "http://127.0.0.1:6006", "someone", "$(PASSWORD)"]
    example["sidecars"] = [{**proxy, "image": IMAGE, "command": ["python3", "-c", code, *args]}]
    del example["sidecars"][0]["args"]
    release = install("proxied", example)
    service = release.one("service", "tensorboard")
    node_port = service["spec"]["ports"][0]["nodePort"]

    _opens_for_the_right_one_only(f"http://{node_address}:{node_port}/")
    _is_shut(release)
    address = release.running("tensorboard")[0]["status"]["podIP"]
    assert_let_in(namespace, address, port)


@pytest.fixture(scope="module")
def traefik(
    namespace: Namespace, kube_config: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, int]]:
    """A Traefik that watches the namespace; the ports of its entry points by name."""
    folder = tmp_path_factory.mktemp("traefik")
    files = [
        tools.source("traefik", "github.com/traefik/traefik/v3") / DEFINITIONS,
        *sorted(
            (
                tools.source("custom-resources", "sigs.k8s.io/gateway-api") / "config/crd/standard"
            ).glob("gateway.networking.k8s.io_[!v]*s.yaml")
        ),
    ]
    named = [f"--filename={file}" for file in files]
    namespace.kubectl("apply", "--server-side", "--force-conflicts", *named)
    namespace.kubectl("wait", "--for=condition=Established", "--timeout=60s", *named)
    for kind, version, controller in (
        ("IngressClass", "networking.k8s.io/v1", {"controller": CONTROLLER.format("ingress")}),
        (
            "GatewayClass",
            "gateway.networking.k8s.io/v1",
            {"controllerName": CONTROLLER.format("gateway")},
        ),
    ):
        meta = {"name": "traefik"}
        namespace.apply({"apiVersion": version, "kind": kind, "metadata": meta, "spec": controller})
    digest = base64.b64encode(hashlib.sha1(SECRET.encode()).digest()).decode()
    namespace.apply(_secret("logins", {"users": f"someone:{{SHA}}{digest}"}))
    namespace.apply(
        {
            "apiVersion": "traefik.io/v1alpha1",
            "kind": "Middleware",
            "metadata": {"name": "login"},
            "spec": {"basicAuth": {"secret": "logins"}},
        }
    )
    ports = {"web": free_port(), "websecure": free_port()}
    providers = ("kubernetesingress", "kubernetescrd", "kubernetesgateway")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            tied_to_us(
                tool_path("traefik"),
                *(f"--entryPoints.{name}.address=127.0.0.1:{port}" for name, port in ports.items()),
                # As Traefik's own chart has it.
                "--entryPoints.websecure.http.tls=true",
                *(f"--providers.{one}=true" for one in providers),
                *(f"--providers.{one}.namespaces={namespace.name}" for one in providers),
                "--global.checkNewVersion=false",
                "--log.level=INFO",
            ),
            env={**os.environ, "KUBECONFIG": kube_config},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        yield ports
        assert process.poll() is None, (folder / "log").read_text()
    finally:
        process.terminate()
        process.wait(30)
        print((folder / "log").read_text()[-4000:])
        namespace.kubectl("delete", "ingressclass/traefik", "gatewayclass/traefik")


def _secret(name: str, data: dict[str, str]) -> dict[str, Any]:
    meta = {"name": name}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": data}


@pytest.mark.full
@pytest.mark.timeout(3600)  # Traefik is built: ten minutes of CPU beside all else
def test_an_ingress_of_traefik_asks_for_the_password(
    install: Callable[[str, dict[str, Any]], Release],
    namespace: Namespace,
    traefik: dict[str, int],
    tmp_path: Path,
) -> None:
    example = copy.deepcopy(BY_INGRESS)
    middleware = "traefik.ingress.kubernetes.io/router.middlewares"
    said = example["ingress"]["annotations"][middleware]
    own = said.replace("training-", f"{namespace.name}-")
    example["ingress"]["annotations"][middleware] = own
    assert example["ingress"]["host"] == HOST
    _certificate(namespace, example["ingress"]["tls"][0]["secretName"], tmp_path)
    release = install("by-ingress", example)

    # The name in TLS chooses the certificate, the one in the request chooses the route.
    _opens_for_the_right_one_only(f"https://localhost:{traefik['websecure']}/")
    assert (
        _answer(f"https://localhost:{traefik['websecure']}/", SECRET, "other.example.com")[0] == 404
    )
    _is_shut(release)


@pytest.mark.full
@pytest.mark.timeout(3600)  # Traefik is built: ten minutes of CPU beside all else
def test_an_http_route_of_a_gateway_asks_for_the_password(
    install: Callable[[str, dict[str, Any]], Release],
    namespace: Namespace,
    traefik: dict[str, int],
) -> None:
    example = copy.deepcopy(BY_ROUTE)
    (parent,) = example["httpRoute"]["parentRefs"]
    parent["namespace"] = namespace.name
    namespace.apply(
        {
            "apiVersion": "gateway.networking.k8s.io/v1",
            "kind": "Gateway",
            "metadata": {"name": parent["name"]},
            "spec": {
                "gatewayClassName": "traefik",
                "listeners": [{"name": "web", "protocol": "HTTP", "port": traefik["web"]}],
            },
        }
    )
    release = install("by-route", example)

    _opens_for_the_right_one_only(f"http://localhost:{traefik['web']}/")
    assert _answer(f"http://localhost:{traefik['web']}/", SECRET, "other.example.com")[0] == 404
    _is_shut(release)


@pytest.mark.full
@pytest.mark.timeout(3600)  # Traefik is built: ten minutes of CPU beside all else
def test_cells_of_a_notebook_run_behind_an_ingress(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    namespace: Namespace,
    traefik: dict[str, int],
    tmp_path: Path,
) -> None:
    host = LAB["ingress"]["host"]
    _certificate(namespace, LAB["ingress"]["tls"][0]["secretName"], tmp_path, host)
    release = make_release("lab")
    small = {"requests": {"cpu": "20m", "memory": "256Mi"}}
    values = {"notebook": {**LAB, "resources": small}}
    release.install(make_values("lab", train={"steps": 10}, extraValues=values))
    eventually("the notebook's pod", lambda: release.running("notebook"), HANG_SECONDS)
    where = ("deployment/lab-notebook", "--", "cat", "/log/lab/_notebooks/.token")
    token = eventually("its token", lambda: namespace.kubectl("exec", *where).strip(), 60)

    page = f"localhost:{traefik['websecure']}{LAB['pathPrefix']}"
    kernels = f"https://{page}/api/kernels"
    made = eventually("a kernel", lambda: json.loads(_asked(kernels, host, token)[1]), HANG_SECONDS)
    with pytest.raises(LookupError, match="403"):
        _asked(kernels, host, "a-guess")
    cookie, _ = _asked(f"https://{page}/lab?token={token}", host)
    channels = f"wss://{page}/api/kernels/{made['id']}/channels"
    assert _printed(channels, host, cookie, "print(6 * 7)") == "42\n"
    # Nothing runs for the page of another host, or for who has not logged in.
    for origin, known in (("elsewhere.example.com", cookie), (host, "")):
        with pytest.raises(websocket.WebSocketBadStatusException) as refused:
            _printed(channels, host, known, "", origin)
        assert refused.value.status_code == 403


def _asked(url: str, host: str, token: str = "") -> tuple[str, str]:
    """The cookie and the body of an answer; with a token by a POST. Raises LookupError."""
    request = urllib.request.Request(url, b"{}" if token else None, {"Host": host})
    if token:
        request.add_header("Authorization", f"token {token}")
    context = ssl._create_unverified_context()
    try:
        with urllib.request.urlopen(request, timeout=HANG_SECONDS, context=context) as answer:
            cookies = (one.partition(";")[0] for one in answer.headers.get_all("Set-Cookie", ()))
            return "; ".join(cookies), answer.read().decode()
    except OSError as error:
        raise LookupError(f"{url}: {error}") from error


def _printed(url: str, host: str, cookie: str, code: str, origin: str = "") -> str:
    """What a cell prints. Raises WebSocketBadStatusException where the server wants none of us."""
    open_one = websocket.create_connection(
        url,
        host=host,
        origin=f"https://{origin or host}",
        cookie=cookie,
        sslopt={"cert_reqs": ssl.CERT_NONE, "check_hostname": False},
        timeout=HANG_SECONDS,
    )
    try:
        header = {"msg_id": uuid.uuid4().hex, "session": "s", "username": "", "version": "5.3"}
        header["msg_type"] = "execute_request"
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}}
        open_one.send(
            json.dumps(
                {
                    "channel": "shell",
                    "header": header,
                    "parent_header": {},
                    "metadata": {},
                    "content": content,
                }
            )
        )
        said = ""
        while True:
            message = json.loads(open_one.recv())
            if message["parent_header"].get("msg_id") != header["msg_id"]:
                continue
            if message["msg_type"] == "stream":
                said += message["content"]["text"]
            if message["msg_type"] == "execute_reply":
                return said
    finally:
        open_one.close()


def _certificate(namespace: Namespace, name: str, folder: Path, host: str = HOST) -> None:
    """A certificate of a host's, signed by itself, as a Secret of TLS."""
    key, signed = self_signed(folder, host)
    namespace.kubectl("create", "secret", "tls", name, f"--key={key}", f"--cert={signed}")
