"""The browser of these tests: it reads the page, keeps to its addresses, shows a failure."""

from __future__ import annotations

import http.server
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.common.exceptions import WebDriverException

from tests.cluster.browser import LOOPBACK, Browser

pytestmark = pytest.mark.cluster

PAGE = b"""<title>a page</title><p>written <i hidden>hidden</i></p><div id=shadow></div>
<script>
  setTimeout(() => { document.body.append('by a script') }, 200);
  const inside = document.createElement('p');
  inside.textContent = 'in the shadow';
  document.getElementById('shadow').attachShadow({mode: 'open'}).append(inside);
  console.error('said on the console');
</script>"""


# Asks again and again, until told; what went wrong is kept. Six at once go out, the others wait.
ASKING = """
window.failures = []; window.answers = 0; window.isAsking = true;
for (let one = 0; one < 12; one++) (async () => {
  while (window.isAsking) {
    try { await fetch('/slow?' + Math.random()); window.answers++; }
    catch (error) { window.failures.push(String(error)); }
  }
})();
"""
INTERFACE = "tfc-goes"
NO_OWN_NETWORK = (
    "only root can give the browser a network of its own"
    if os.geteuid() != 0
    else "KUBECONFIG names another cluster, whose node a browser apart would not reach"
)


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/slow"):
            time.sleep(0.5)  # so that more is asked for than connections are
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port(browser: Browser) -> Iterator[int]:
    with http.server.ThreadingHTTPServer((browser.here, 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_it_reads_the_page_and_keeps_to_its_addresses(
    browser: Browser, port: int, tmp_path: Path
) -> None:
    browser.open(f"http://{browser.here}:{port}/")

    text = browser.until_it_says("by a script")
    assert "written" in text and "in the shadow" in text and "hidden" not in text
    evidence = browser.evidence(tmp_path / "shot.png")
    assert "by a script" in evidence and "said on the console" in evidence
    assert (tmp_path / "shot.png").read_bytes().startswith(b"\x89PNG")
    # 127.0.0.2 answers nobody here either, but this error says that nobody was asked.
    for elsewhere in (f"http://127.0.0.2:{port}/", "http://example.org/"):
        with pytest.raises(WebDriverException, match="ERR_NAME_NOT_RESOLVED"):
            browser.open(elsewhere)


def test_interfaces_that_come_and_go_do_not_end_what_it_asks_for(
    browser: Browser, port: int
) -> None:
    if browser.here == LOOPBACK:
        pytest.skip(NO_OWN_NETWORK)
    browser.open(f"http://{browser.here}:{port}/")
    browser.asked(ASKING)
    for _ in range(6):
        _interface_comes_and_goes()
    browser.asked("window.isAsking = false")
    assert browser.asked("return window.failures") == []
    assert browser.asked("return window.answers") > 8


def _interface_comes_and_goes() -> None:
    # Nothing tells when the browser has seen a change: it asks on for half a second after each.
    _ip("link", "add", INTERFACE, "type", "veth", "peer", "name", f"{INTERFACE}2")
    try:
        _ip("addr", "add", "198.18.0.1/32", "dev", INTERFACE)
        _ip("link", "set", INTERFACE, "up")
        time.sleep(0.5)
    finally:
        _ip("link", "delete", INTERFACE)
    time.sleep(0.5)


def _ip(*arguments: str) -> None:
    subprocess.run(("ip", *arguments), check=True)
