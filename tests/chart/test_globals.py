"""Values that the charts of a release share: what this chart's own values say wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import CHART, ROOT, Rendered, Values, refusal, render

GLOBALS = FEATURES["globals"]


def images(rendered: Rendered) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in rendered.pods.values()}


def classes(rendered: Rendered) -> dict[str, str | None]:
    return {
        claim["metadata"]["name"]: claim["spec"].get("storageClassName")
        for claim in rendered.all("PersistentVolumeClaim")
    }


@pytest.fixture(params=[CHART, ROOT], ids=["alone", "in the umbrella"])
def shared(request: pytest.FixtureRequest) -> Rendered:
    chart: Path = request.param
    own = {key: part for key, part in GLOBALS.items() if key != "global"}
    below = own if chart == CHART else {"tf-cluster": own}
    return render({"global": GLOBALS["global"], **below}, chart=chart)


def test_the_registry_is_put_before_an_image_that_names_none(shared: Rendered) -> None:
    assert images(shared) == {"mirror.example:5000/ai/team/trainer:0.1.0"}


def test_every_pod_has_the_charts_own_pull_secrets_and_the_shared_ones_once(
    shared: Rendered,
) -> None:
    expected = [{"name": "own"}, {"name": "shared"}, {"name": "other"}]
    for name, pod in shared.pods.items():
        assert pod["spec"]["imagePullSecrets"] == expected, name


def test_the_class_is_that_of_claims_that_say_none(shared: Rendered) -> None:
    assert classes(shared) == {"digits-data": "", "digits-log": "replicated"}


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({"repository": "registry.example/trainer"}, "registry.example/trainer"),
        ({"repository": "localhost/trainer"}, "localhost/trainer"),
        ({"repository": "node:5000/trainer"}, "node:5000/trainer"),
        ({"repository": "trainer"}, "mirror.example/trainer"),
        ({"repository": "v1.2/trainer", "registry": "own.example"}, "own.example/v1.2/trainer"),
    ],
)
def test_a_registry_that_an_image_names_stays(image: Values, expected: str) -> None:
    rendered = render({"global": {"imageRegistry": "mirror.example"}, "image": image})
    assert images(rendered) == {f"{expected}:0.1.0"}


def test_a_roles_own_image_has_the_shared_registry_too() -> None:
    roles = {"global": {"imageRegistry": "mirror.example"}, "worker": {"image": {"tag": "gpu"}}}
    rendered = render({**roles, "image": {"repository": "trainer"}})
    worker = rendered.one("Job", "worker")["spec"]["template"]["spec"]["containers"][0]
    assert worker["image"] == "mirror.example/trainer:gpu"


def test_a_claim_of_the_shared_class_may_name_its_volume() -> None:
    named = {"storage": {"data": {"volumeName": "pv1"}}}
    assert "storage.data.volumeName is pv1, and without" in refusal(named)
    rendered = render({**named, "global": {"storageClass": "replicated"}})
    assert classes(rendered)["digits-data"] == "replicated"


def test_without_shared_values_nothing_of_them_is_rendered() -> None:
    for nothing in ({}, {"global": {"storageClass": "", "imageRegistry": "", "other": 1}}):
        assert render(nothing).text == render().text
    assert classes(render()) == {"digits-data": None, "digits-log": None}


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"imageRegistry": "a b"}, "/global/imageRegistry"),
        ({"imagePullSecrets": [{"nmae": "x"}]}, "/global/imagePullSecrets/0"),
        ({"storageClass": "A_B"}, "/global/storageClass"),
    ],
)
def test_a_shared_value_of_the_wrong_form_is_refused(wrong: Values, where: str) -> None:
    assert where in refusal({"global": wrong})
