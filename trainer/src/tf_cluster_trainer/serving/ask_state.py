"""What a model server says of a version, and waiting until it serves it."""

from __future__ import annotations

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote

SERVES, ENDED, LOADS = "AVAILABLE", "END", "LOADING"
EVERY_SECONDS = 0.5
SETTLED_SECONDS = 120.0
"""A version that had failed before we came may be asked for anew: from a changed ConfigMap to a
server that acts on it takes a kubelet's sync and a poll, 75 s were seen."""
METRICS = "/monitoring/prometheus/metrics"
_ATTEMPTS = re.compile(
    r'^:tensorflow:cc:saved_model:load_attempt_count\{model_path="(.*)",status="(\w+)"\} (\d+)$',
    re.MULTILINE,
)
_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True)
class Seen:
    """A version's state, None where there is none, and what is wrong with it."""

    state: str | None
    problem: str | None = None


@dataclass(frozen=True)
class Place:
    """A version at a server's REST address, as `http://HOST:8501`."""

    rest: str
    model: str
    version: int
    label: str = ""

    def look(self) -> Seen:
        """What the server says now, in its own words."""
        status, text = self._get(f"/v1/models/{quote(self.model, safe='')}/versions/{self.version}")
        if status is None:
            return Seen(None, text)
        try:
            document = json.loads(text)
            if status != 200:
                return Seen(None, str(document["error"]))
            (found,) = document["model_version_status"]
            state, why = str(found["state"]), found["status"]
            words = str(why.get("error_message") or "")
            failed = bool(words) or why.get("error_code", "OK") != "OK"
        except (ValueError, KeyError, TypeError, AttributeError):
            return Seen(None, f"{self.rest} does not answer as a model server does: {text[:200]}")
        if state == LOADS and failed:
            return Seen(state, f"retries loading: {words}")
        if state == ENDED and failed:
            return Seen(state, words or str(why["error_code"]))
        if state == SERVES and self.label:
            return self._by_label()
        return Seen(state)

    def _by_label(self) -> Seen:
        """The version, once the label names it. A status ignores labels; metadata does not."""
        path = f"/v1/models/{quote(self.model, safe='')}/labels/{quote(self.label, safe='')}"
        status, text = self._get(f"{path}/metadata")
        try:
            document = json.loads(text)
            named = None if status != 200 else int(document["model_spec"]["version"])
        except (ValueError, KeyError, TypeError):
            return Seen(None, f"{self.rest} does not answer as a model server does: {text[:200]}")
        if named == self.version:
            return Seen(SERVES)
        return Seen(None, str(document["error"]) if named is None else f"{self.label} is {named}")

    def attempts(self) -> tuple[int, int]:
        """Loads that worked and that failed, as the metrics count them; 0 where there are none.

        They count by directory. One in a directory of the model's name is the model's; else that
        of this version, if there is one alone: a training's is `export/4`, whatever the model.
        """
        status, text = self._get(METRICS)
        counted: dict[str, dict[str, int]] = {}
        for path, outcome, number in _ATTEMPTS.findall(text) if status == 200 else ():
            if path.rstrip("/").endswith(f"/{self.version}"):
                of_it = counted.setdefault(path.rstrip("/"), {})
                of_it[outcome] = of_it.get(outcome, 0) + int(number)
        named = [path for path in counted if path.endswith(f"/{self.model}/{self.version}")]
        (path,) = (named or list(counted)) if len(named or counted) == 1 else ("",)
        found = counted.get(path, {})
        return found.get("success", 0), found.get("fail", 0)

    def _get(self, path: str) -> tuple[int | None, str]:
        """Status and text; None and the reason where nothing answers."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"{self.rest}{path}", timeout=_TIMEOUT_SECONDS) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode(errors="replace")
        except urllib.error.URLError as error:
            return None, f"{self.rest} does not answer: {error.reason}"
        except OSError as error:
            return None, f"{self.rest} does not answer: {error}"


def wait(
    place: Place,
    seconds: float,
    say: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Seen:
    """What is seen of the version when it serves, when it has failed, or when time is up.

    `say` is told of each new state. A failure that was there from the first look on counts only
    after SETTLED_SECONDS.
    """
    began = clock()
    first: Seen | None = None
    last: Seen | None = None
    has_moved = False
    while True:
        seen = place.look()
        if seen.state == LOADS and not seen.problem:
            seen = Seen(seen.state, _retries(place))
        if seen != last:
            say(f"{seen.state or 'no state'}{f': {seen.problem}' if seen.problem else ''}")
        first, last = first or seen, seen
        has_moved = has_moved or seen != first
        gone = clock() - began
        has_failed = seen.state == ENDED and seen.problem is not None
        is_old = not has_moved and gone < SETTLED_SECONDS
        if seen.state == SERVES or (has_failed and not is_old) or gone >= seconds:
            return _at_the_end(seen, seconds)
        sleep(min(EVERY_SECONDS, max(seconds - gone, 0.01)))


def _retries(place: Place) -> str | None:
    """Why a version that is LOADING may never serve: its status does not say so, its metrics do."""
    worked, failed = place.attempts()
    if failed:
        return f"retries loading: {failed} of {worked + failed} attempts failed; its log says why"
    if worked > 1:
        return f"retries loading: it was loaded {worked} times, and its warm-up fails each time"
    return None


def _at_the_end(seen: Seen, seconds: float) -> Seen:
    if seen.problem or seen.state == SERVES:
        return seen
    if seen.state == ENDED:
        return Seen(seen.state, f"it was unloaded, and not loaded again within {seconds:g} s")
    return Seen(seen.state, f"it is still {seen.state} after {seconds:g} s")
