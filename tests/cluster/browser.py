"""A headless Chromium for one case: a fresh profile, and no way but to the addresses it is given.

It has a network of its own where those are this machine's (`own_network`). Debian's chromedriver is
of Chromium's own version, so nothing is looked up or downloaded.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from urllib3.exceptions import HTTPError

from tests.cluster import own_network
from tests.support.waiting import eventually
from tests.tied import tied_to_us

CHROMIUM, DRIVER = "chromium", "chromedriver"
LOOPBACK = "127.0.0.1"
SHOWN = 4000  # characters of a page's text, of its console and of the driver's log


def lacking() -> str:
    """What of the two is not on this machine, as a sentence; empty where both are."""
    absent = [name for name in (CHROMIUM, DRIVER) if shutil.which(name) is None]
    how = "on Debian `python -m tools.machine browser` installs them"
    return f"no {' and no '.join(absent)}: {how}" if absent else ""


class Browser:
    """Selenium's driver, and what a person would see of the page.

    `here` is the address by which it reaches this machine.
    """

    def __init__(self, driver: webdriver.Remote, log: Path, here: str) -> None:
        self.driver = driver
        self.here = here
        self._log = log

    def open(self, url: str) -> None:
        """Open an address and wait for the page's load event. Raises WebDriverException."""
        self.driver.get(url)

    def asked(self, script: str) -> Any:
        """What a script returns. Raises LookupError while the page is being replaced."""
        try:
            return self.driver.execute_script(script)
        except WebDriverException as error:
            raise LookupError(f"{error.msg}") from error

    def text(self) -> str:
        """The words on the page, those in open shadow roots too. Raises LookupError."""
        return str(self.asked(_TEXT))

    def until_it_says(self, *words: str, seconds: float = 30) -> str:
        """Wait until all the words are on the page; returns all of its text."""

        def said() -> str:
            text = self.text()
            absent = [one for one in words if one not in text]
            assert not absent, f"no {absent} in {text[-SHOWN:]}"
            return text

        return eventually(f"{words} on the page", said, seconds)

    def evidence(self, picture: Path) -> str:
        """What to look at after a failure: the page's address, text, console, and a screenshot."""
        try:
            picture.parent.mkdir(parents=True, exist_ok=True)
            self.driver.save_screenshot(str(picture))
            log = self.driver.execute("getLog", {"type": "browser"})["value"]
            console = "\n".join(entry["message"] for entry in log)
            return (
                f"{self.driver.current_url}\nscreenshot: {picture}\n"
                f"--- its text\n{self.text()[:SHOWN]}\n--- its console\n{console[-SHOWN:]}"
            )
        # HTTPError: no driver answers.
        except (LookupError, WebDriverException, HTTPError) as error:
            return f"{error}\n--- the driver's log\n{self._log.read_text()[-SHOWN:]}"


# innerText leaves out what is hidden, and what lies in shadow roots.
_TEXT = """
const shadows = (node) => [...node.querySelectorAll('*')].flatMap(
  (one) => one.shadowRoot ? [one.shadowRoot, ...shadows(one.shadowRoot)] : []);
const inside = (root) => [...root.children].map((one) => one.innerText || '').join('\\n');
return [document.body.innerText, ...shadows(document).map(inside)].join('\\n');
"""


@contextmanager
def browser(folder: Path, *addresses: str) -> Iterator[Browser]:
    """A browser that reaches this machine and these addresses, and resolves no name."""
    log = folder / "chromedriver.log"
    here, its = LOOPBACK, LOOPBACK
    is_apart = own_network.can_have_one(*addresses)
    command: tuple[str, ...] = (DRIVER, "--port=0")
    if is_apart:
        # It answers all: nobody but us is on its network.
        command = own_network.waiting(*command, "--allowed-ips=")
    with log.open("w") as file:
        process = subprocess.Popen(
            tied_to_us(*command), stdin=subprocess.PIPE, stdout=file, stderr=subprocess.STDOUT
        )
    try:
        if is_apart:
            network = own_network.link(process)
            here, its = network.ours, network.its
        answers = f"http://{its}:{_port(process, log)}"
        driver = webdriver.Remote(answers, options=_options(folder, (here, *addresses)))
        yield Browser(driver, log, here)
    finally:
        process.terminate()
        process.wait()


def _options(folder: Path, addresses: tuple[str, ...]) -> webdriver.ChromeOptions:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which(CHROMIUM)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    reached = "".join(f", EXCLUDE {one}" for one in addresses)
    for argument in (
        "--headless=new",
        "--remote-debugging-pipe",  # ends when its driver does, however that ends
        *(("--no-sandbox",) if os.geteuid() == 0 else ()),
        "--disable-dev-shm-usage",
        "--window-size=1400,1000",
        f"--user-data-dir={folder / 'profile'}",
        "--no-first-run",
        "--no-proxy-server",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        f"--host-resolver-rules=MAP * ~NOTFOUND{reached}",
    ):
        options.add_argument(argument)
    return options


def _port(process: subprocess.Popen[bytes], log: Path) -> int:
    """The port that the driver has chosen."""

    def told() -> int | None:
        found = re.search(r"started successfully on port (\d+)", log.read_text())
        return int(found[1]) if found else None

    try:
        return eventually("chromedriver's port", told)
    except AssertionError as error:
        raise AssertionError(f"{error}; exit {process.poll()}\n{log.read_text()}") from None
