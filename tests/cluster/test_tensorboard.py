"""TensorBoard on its NodePort: a training's curves are on the page, for whom the policy lets in."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

from tests.cluster.browser import Browser
from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.strangers import assert_kept_out, assert_let_in
from tests.support.waiting import HANG_SECONDS, eventually

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]  # a browser on two busy cores

STEPS = 600

# What a run has written, read by TensorFlow itself: [step, value] of every point of a tag.
POINTS = """
import glob, json, sys, tensorflow as tf
points = {}
for path in sorted(glob.glob(f"/log/curves/{sys.argv[1]}/events/*")):
    for event in tf.compat.v1.train.summary_iterator(path):
        for value in event.summary.value:
            if value.tag == sys.argv[2]:
                points[event.step] = float(tf.make_ndarray(value.tensor))
print(json.dumps(sorted(points.items())))
"""


def _asked(url: str) -> Any:
    try:
        with urllib.request.urlopen(url, timeout=HANG_SECONDS) as answer:
            return json.load(answer)
    except OSError as error:
        raise LookupError(f"{url}: {error}") from None  # `eventually` asks again


def _uid(release: Release) -> str:
    pods = release.running("tensorboard")
    if len(pods) != 1:
        raise LookupError(f"{len(pods)} pods")
    return str(pods[0]["metadata"]["uid"])


def test_the_curves_of_this_release_and_of_a_new_run_are_on_the_page(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    namespace: Namespace,
    node_address: str,
    browser: Browser,
) -> None:
    release = make_release("curves")
    values = make_values("curves", train={"steps": STEPS, "reportSeconds": 1})
    # Switched on with the training there: its tasks stay as they are.
    release.install(values)
    eventually("the chief's pod", lambda: release.objects("pod", "chief"), 60)
    before = _training(release)
    on = (
        "tensorboard.enabled=true",
        "tensorboard.service.type=NodePort",
        "tensorboard.resources.requests.memory=64Mi",
    )
    notes = release.upgrade(values, *on)
    assert "service/curves-tensorboard" in notes
    assert _training(release) == before
    release.await_job("chief", "Complete", 240)
    eventually("TensorBoard's pod", lambda: release.running("tensorboard"), 120)
    pod = _uid(release)
    service = release.one("service", "tensorboard")
    address = f"http://{node_address}:{service['spec']['ports'][0]['nodePort']}"

    eventually("the run", lambda: "loss" in _tags(address)["1/events"], 120)
    points = _points(namespace, release, "1", "loss")
    assert points
    api = eventually(
        "its last point", lambda: _ends_as(_scalars(address, "1/events", "loss"), points), 60
    )
    assert api == points  # every point, as the event files have it

    # Nothing but the card of the loss. Its table has a row for each run, with the last point.
    browser.open(f"{address}/?tagFilter=%5Eloss%24#timeseries")
    eventually("the curve", lambda: browser.asked(CURVES), 60)
    last = f"{points[-1][1]:.4f}"[:5].rstrip("0")  # as it shows 0.09002
    page = browser.until_it_says(last, "1/events", "loss", seconds=60)
    assert "examples_per_second" not in page

    # A new run of the same release: the same pod finds it.
    release.upgrade(values, *on, "run.id=second")
    eventually("the new run", lambda: "loss" in _tags(address)["second/events"], 240)
    browser.driver.refresh()
    browser.until_it_says("second/events", seconds=60)
    assert _uid(release) == pod

    # A page of every release on the claim: another training trains on it, and ends.
    others = make_release("others")
    others.install(
        make_values("others", train={"steps": 20}), "storage.log.existingClaim=curves-log"
    )
    others.await_job("chief", "Complete", 240)
    release.upgrade(values, *on, "run.id=second", "tensorboard.logdir=/log")
    found = eventually("both releases", lambda: _both(_tags(address)), 120)
    assert "loss" in found["curves/1/events"] and "loss" in found["others/1/events"]
    others.uninstall()
    release.upgrade(values, *on, "run.id=second")
    eventually("its own page again", lambda: "1/events" in _tags(address), 120)
    pod = eventually("one pod", lambda: _uid(release), 60)
    inside = release.running("tensorboard")[0]["status"]["podIP"]

    # Everybody may come to a NodePort, until somebody is named.
    assert_let_in(namespace, inside, 6006)
    named = f"tensorboard.allowFrom[0].ipBlock.cidr={node_address}/32"
    release.upgrade(values, *on, "run.id=second", named)
    assert _uid(release) == pod
    assert_kept_out(namespace, inside, 6006)
    eventually("the page, for whom the policy names", lambda: _tags(address), 30)
    release.uninstall()


# The line of a chart: a path of an SVG, or a canvas that WebGL draws on; of a card with the tag.
CURVES = """
const all = (root) => [...root.querySelectorAll('*')].flatMap(
  (one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
return all(document).filter((one) => {
  const box = one.getBoundingClientRect();
  return box.width > 50 && box.height > 20 && one.closest('scalar-card')
    && (one.matches('svg path') || one.matches('canvas'));
}).length;
"""


def _training(release: Release) -> dict[str, str]:
    found = [obj for kind in ("chief", "worker") for obj in release.objects("job", kind)]
    found += release.objects("deployment", "ps") + release.objects("pod", "chief")
    return {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in found}


def _tags(address: str) -> dict[str, Any]:
    return dict(_asked(f"{address}/data/plugin/scalars/tags"))


def _both(tags: dict[str, Any]) -> dict[str, Any] | None:
    return tags if {"curves/1/events", "others/1/events"} <= tags.keys() else None


def _scalars(address: str, run: str, tag: str) -> list[list[float]]:
    query = urllib.parse.urlencode({"run": run, "tag": tag})
    rows = _asked(f"{address}/data/plugin/scalars/scalars?{query}")
    return [[step, value] for _, step, value in rows]


def _ends_as(rows: list[list[float]], points: list[list[float]]) -> list[list[float]] | None:
    return rows if rows and rows[-1][0] == points[-1][0] else None


def _points(namespace: Namespace, release: Release, run: str, tag: str) -> list[list[float]]:
    (pod,) = release.running("tensorboard")
    name = pod["metadata"]["name"]
    printed = namespace.kubectl("exec", name, "--", "python3", "-c", POINTS, run, tag)
    return [list(point) for point in json.loads(printed.splitlines()[-1])]
