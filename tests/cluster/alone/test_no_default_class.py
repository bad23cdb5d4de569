"""A cluster without a default StorageClass: the doctor says so, and with one the training goes on.

Claims of other cases would wait, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.cluster import turns
from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Namespace, Release
from tests.cluster.operations.diagnosis import diagnosed
from tests.cluster.operations.failures import ALL_REDUCE
from tests.slices import in_turn
from tests.support.waiting import eventually

pytestmark = [pytest.mark.cluster, in_turn(turns.DOCTOR_LATER, of=turns.OF)]

IS_DEFAULT = "storageclass.kubernetes.io/is-default-class"


@contextmanager
def _no_default_class(namespace: Namespace) -> Iterator[None]:
    classes = json.loads(namespace.kubectl("get", "storageclass", "--output=json"))["items"]
    defaults = [
        one["metadata"]["name"]
        for one in classes
        if one["metadata"].get("annotations", {}).get(IS_DEFAULT) == "true"
    ]
    assert defaults

    def are(word: str) -> None:
        named = ("storageclass", *defaults)
        namespace.kubectl("annotate", "--overwrite", *named, f"{IS_DEFAULT}={word}")

    are("false")
    try:
        yield
    finally:
        are("true")


def test_a_claim_waits_for_a_default_class_and_takes_the_one_that_comes(
    namespace: Namespace, make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release("no-default")
    values = make_values("no-default", workers=1, train={"steps": 100}, **ALL_REDUCE)
    with _no_default_class(namespace):
        release.install(values)
        found = eventually("TFD108", lambda: diagnosed(release, "TFD108"), 60)
        assert found.about.startswith("persistentvolumeclaim/no-default-")
        assert "the cluster has no default one" in found.words
    release.await_job("worker", "Complete", 240)
