"""A TensorFlow port executes what it is sent: only tasks of its release may reach it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Release
from tests.cluster.strangers import assert_kept_out, assert_let_in
from tests.programs import ENDLESS, SLOWLY
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster


def test_a_stranger_cannot_reach_a_tensorflow_port_but_the_release_trains(
    make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release("isolated")
    release.install(make_values("isolated", **SLOWLY, train={"steps": ENDLESS}))
    eventually("the first steps", lambda: (release.progress()["step"] or 0) > 0, 120)
    address = release.running("ps")[0]["status"]["podIP"]
    before = release.progress()["step"]
    # The policy is off the second time: the same stranger gets in, so it was the policy.
    assert_kept_out(release.namespace, address)
    eventually("more steps", lambda: release.progress()["step"] > before, 60)
    release.namespace.kubectl("delete", "networkpolicy", "--all")
    assert_let_in(release.namespace, address)
    release.uninstall()
