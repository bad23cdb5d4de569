"""The browser of these tests: it reads the page, keeps to its addresses, shows a failure."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.common.exceptions import WebDriverException

from tests.cluster.browser import Browser

pytestmark = pytest.mark.cluster

PAGE = b"""<title>a page</title><p>written <i hidden>hidden</i></p><div id=shadow></div>
<script>
  setTimeout(() => { document.body.append('by a script') }, 200);
  const inside = document.createElement('p');
  inside.textContent = 'in the shadow';
  document.getElementById('shadow').attachShadow({mode: 'open'}).append(inside);
  console.error('said on the console');
</script>"""


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def port() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_it_reads_the_page_and_keeps_to_its_addresses(
    browser: Browser, port: int, tmp_path: Path
) -> None:
    browser.open(f"http://127.0.0.1:{port}/")

    text = browser.until_it_says("by a script")
    assert "written" in text and "in the shadow" in text and "hidden" not in text
    evidence = browser.evidence(tmp_path / "shot.png")
    assert "by a script" in evidence and "said on the console" in evidence
    assert (tmp_path / "shot.png").read_bytes().startswith(b"\x89PNG")
    # 127.0.0.2 answers nobody here either, but this error says that nobody was asked.
    for elsewhere in (f"http://127.0.0.2:{port}/", "http://example.org/"):
        with pytest.raises(WebDriverException, match="ERR_NAME_NOT_RESOLVED"):
            browser.open(elsewhere)
