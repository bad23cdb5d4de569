"""The notebook on its NodePort: it drives an interactive cluster, for whom has the token."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from selenium.common.exceptions import ElementClickInterceptedException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.cluster.browser import Browser
from tests.cluster.conftest import IMAGE, REQUESTS, ROOT
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.strangers import assert_kept_out, assert_let_in
from tests.support.waiting import HANG_SECONDS, eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # a browser on two busy cores

EXAMPLE = ROOT / "values-examples" / "interactive.values.yaml"
NOTEBOOK = "in-graph-client.ipynb"
IDLE = 150  # on a busy machine the browser needs more than a minute to be a client
OWN_TOKEN = "a-token-of-the-team"
GO_ON = "/log/play/_notebooks/go-on"
# Calls until the test has seen the worker lost and back.
CALLS = (
    "[(coordinator.schedule(ten_steps, args=(iterator,)), coordinator.join(), "
    "__import__('time').sleep(0.1)) for _ in "
    f"iter(lambda: __import__('os').path.exists('{GO_ON}'), True)] and print('went', 'on')"
)


def _values(folder: Path) -> Path:
    """The example's, for this cluster's size."""
    repository, _, tag = IMAGE.rpartition(":")
    path = folder / "values.yaml"
    values = yaml.safe_load(EXAMPLE.read_text())
    values["image"] = {"repository": repository, "tag": tag}
    values["interactive"]["idleSeconds"] = IDLE
    values["cleanup"] = {"delaySeconds": {"success": 0}}
    for role in ("notebook", "worker", "ps"):
        values[role]["resources"] = REQUESTS
    path.write_text(yaml.safe_dump(values))
    return path


def _token(release: Release) -> str:
    deployment = release.one("deployment", "notebook")["metadata"]["name"]
    words = (
        "exec",
        f"deployment/{deployment}",
        "--",
        "cat",
        f"/log/{release.name}/_notebooks/.token",
    )
    return release.namespace.kubectl(*words).strip()


def _asked(address: str, token: str, path: str) -> Any:
    """What the server's API answers at a path."""
    headers = {"Authorization": f"token {token}"}
    request = urllib.request.Request(f"{address}/api/{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=HANG_SECONDS) as answer:
            return json.load(answer)
    except OSError as error:  # it starts, or a file is being written
        raise LookupError(str(error)) from error


def _refused(address: str, token: str) -> bool:
    """Whether the server wants another token. Raises AssertionError where nobody answers."""
    try:
        _asked(address, token, "contents")
    except LookupError as error:
        cause = error.__cause__
        assert isinstance(cause, urllib.error.HTTPError), cause
        return cause.code == 403
    return False


def _cells(address: str, token: str) -> list[dict[str, Any]]:
    """The code cells of the notebook, as it was last saved."""
    cells = _asked(address, token, f"contents/{NOTEBOOK}")["content"]["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def _kernel(address: str, token: str) -> str:
    """What its one kernel does: busy, idle; empty where there is none yet."""
    kernels = _asked(address, token, "kernels")
    return str(kernels[0]["execution_state"]) if kernels else ""


def _said(cells: list[dict[str, Any]]) -> str:
    outputs = [output for cell in cells for output in cell["outputs"]]
    errors = [output for output in outputs if output["output_type"] == "error"]
    assert not errors, errors
    return "".join("".join(output.get("text", "")) for output in outputs)


def _one(browser: Browser, css: str, words: str = "") -> WebElement:
    """The first visible element of a selector, with these words."""

    def found() -> WebElement | None:
        elements = browser.driver.find_elements(By.CSS_SELECTOR, css)
        return next((one for one in elements if one.is_displayed() and words in one.text), None)

    return eventually(f"{css} {words}", found, 60)


def _menu(browser: Browser, menu: str, item: str) -> None:
    """Choose an item. Raises LookupError where something lies over it, a dialog for one."""
    _agree(browser)
    try:
        _one(browser, ".lm-MenuBar-itemLabel", menu).click()
        _one(browser, ".lm-Menu-itemLabel", item).click()
    except ElementClickInterceptedException as error:
        raise LookupError(f"{error.msg}") from error


def _run_below(browser: Browser, code: str) -> None:
    """Run code in a new last cell. Raises LookupError where a dialog lies over the cells."""
    _agree(browser)
    last = browser.driver.find_elements(By.CSS_SELECTOR, ".jp-CodeCell")[-1]
    try:
        last.click()
    except ElementClickInterceptedException as error:
        raise LookupError(f"{error.msg}") from error
    browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    browser.driver.switch_to.active_element.send_keys("b", Keys.ENTER)
    browser.driver.switch_to.active_element.send_keys(code, Keys.SHIFT + Keys.ENTER)


def _agree(browser: Browser) -> None:
    """Answer a dialog.

    Either a save has met another one: what the page has is what counts. Or the page has lost its
    server for a moment, and asks it again by itself.
    """
    for button in browser.driver.find_elements(By.CSS_SELECTOR, ".jp-Dialog-button"):
        if button.is_displayed() and button.text in ("Overwrite", "Ok", "Dismiss", "Close"):
            button.click()
            return


def _log_in(browser: Browser, token: str) -> None:
    field = _one(browser, "#password_input")
    field.clear()
    field.send_keys(token, Keys.ENTER)


def _upgrade(release: Release, values: Path, *settings: str) -> None:
    """`helm upgrade` with settings that make a new pod of the notebook; returns once it runs."""
    old = {pod["metadata"]["uid"] for pod in release.running("notebook")}
    release.upgrade(values, *settings)

    def is_new() -> bool:
        return any(pod["metadata"]["uid"] not in old for pod in release.running("notebook"))

    eventually("a new pod", is_new, 120)


def test_a_notebook_drives_the_cluster_and_only_who_has_its_token_drives_it(
    make_release: Callable[[str], Release],
    namespace: Namespace,
    node_address: str,
    browser: Browser,
    tmp_path: Path,
) -> None:
    release, values = make_release("play"), _values(tmp_path)
    release.install(values)
    eventually("the notebook's pod", lambda: release.running("notebook"), 120)
    port = release.one("service", "notebook")["spec"]["ports"][0]["nodePort"]
    address = f"http://{node_address}:{port}"
    token = eventually("the token", lambda: _token(release), 60)
    eventually("the page", lambda: _asked(address, token, "contents"), 60)
    assert token not in namespace.helm("get", "all", release.name)
    for other in ("wrong", ""):
        eventually("a refusal", lambda other=other: _refused(address, other), 30)

    browser.open(f"{address}/lab/tree/{NOTEBOOK}")
    _log_in(browser, "wrong")
    browser.until_it_says("Invalid credentials", seconds=60)
    _log_in(browser, token)
    browser.until_it_says("A client of a cluster's servers", seconds=120)

    _menu(browser, "Run", "Run All Cells")
    saved = 0.0

    def all_are_done() -> list[dict[str, Any]] | None:
        nonlocal saved
        if _kernel(address, token) != "idle":
            return None
        cells = _cells(address, token)
        if "held-out images" in _said(cells):
            return cells
        if time.monotonic() - saved > 5:  # a save for each look would meet the one before
            _menu(browser, "File", "Save Notebook")
            saved = time.monotonic()
        return None

    cells = eventually("every cell", all_are_done, 240)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    said = _said(cells)
    assert "dense/kernel:0" in said and "/job:ps/replica:0/task:0/" in said
    assert float(said.rpartition("held-out images: ")[2].split()[0]) > 0.9
    plot = eventually("the plot", lambda: browser.asked(PLOT), 60)
    assert plot[0] > 300 and plot[1] > 100

    # Both ends of what the client and the tasks say to each other are shut to others.
    client = release.running("notebook")[0]["status"]["podIP"]
    server = release.running("ps")[0]["status"]["podIP"]
    for there, port in ((client, 2222), (server, 2222), (server, 8080)):
        assert_kept_out(namespace, there, port)
    assert_let_in(namespace, client, 8888)

    # A worker is killed while a cell runs.
    def calls_run() -> bool:
        _run_below(browser, CALLS)  # once more where a dialog took the keys
        return eventually("a busy kernel", lambda: _kernel(address, token) == "busy")

    eventually("the last cell's run", calls_run, 60)
    lost = release.worker(1)
    assert lost
    namespace.kubectl("delete", "pod", lost["metadata"]["name"], "--grace-period=1")

    browser.until_it_says("worker-1 is gone", "worker-1 is back", seconds=120)
    client_pod = release.running("notebook")[0]["metadata"]["name"]
    namespace.kubectl("exec", client_pod, "--", "touch", GO_ON)
    browser.until_it_says("went on", seconds=60)

    # The same token after an upgrade that makes a new pod.
    _upgrade(release, values, "notebook.podLabels.again=yes")
    eventually("the same token", lambda: _token(release) == token, 60)

    # A token of one's own, on a page that has not the whole host to itself.
    namespace.kubectl("create", "secret", "generic", "ours", f"--from-literal=lab={OWN_TOKEN}")
    secret = ("notebook.token.existingSecret=ours", "notebook.token.key=lab")
    _upgrade(release, values, *secret, "notebook.pathPrefix=/team/play")
    below = f"{address}/team/play"
    eventually("the page below its path", lambda: _asked(below, OWN_TOKEN, "contents"), 60)
    for other in (token, ""):
        eventually("a refusal", lambda other=other: _refused(below, other), 30)
    browser.open(f"{below}/lab/tree/{NOTEBOOK}")
    _log_in(browser, OWN_TOKEN)
    browser.until_it_says("A client of a cluster's servers", seconds=120)

    # Without a client the cluster ends by itself.
    deployment = release.one("deployment", "notebook")["metadata"]["name"]
    namespace.kubectl("scale", f"deployment/{deployment}", "--replicas=0")
    release.await_job("worker", "Complete", IDLE + 120)
    eventually("no ps", lambda: not release.running("ps") or None, 120)
    release.uninstall()


PLOT = """
const image = [...document.querySelectorAll('.jp-OutputArea-output img')].pop();
if (!image) {
  const panel = document.querySelector('.jp-WindowedPanel-outer');
  if (panel) panel.scrollTop = (panel.scrollTop + 300) % panel.scrollHeight;
  return null;
}
image.scrollIntoView();
return image.complete && image.naturalWidth ? [image.naturalWidth, image.naturalHeight] : null;
"""
