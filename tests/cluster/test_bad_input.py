"""What a user gets wrong: the Job says so at once, with the place and the fix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cluster.conftest import MakeValues
from tests.cluster.kubernetes import Object, Release
from tests.support.waiting import eventually

pytestmark = pytest.mark.cluster


def _exit_code(release: Release) -> int:
    pod = release.one("pod", "chief")
    return int(pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"])


def _log(release: Release, job: Object) -> str:
    return release.namespace.kubectl("logs", f"job/{job['metadata']['name']}")


def test_a_wrong_program_fails_the_job_at_once_and_names_it(
    make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release("wrong-program")
    values = make_values("wrong-program")
    # `tf-cluster generate` would refuse it: this is a values file that a person changed.
    values.write_text(values.read_text().replace("digits:Digits", "digits:Digitz"))
    release.install(values)
    job = release.await_job("chief", "Failed", 90)
    assert _exit_code(release) == 2
    assert job["status"]["failed"] == 1
    log = _log(release, job)
    assert "Digitz" in log
    assert "Digits" in log, "no suggestion"
    release.uninstall()


def test_a_claim_that_does_not_exist_is_named_by_the_notes_and_by_the_waiting_pod(
    make_release: Callable[[str], Release], make_values: MakeValues
) -> None:
    release = make_release("no-claim")
    notes = release.install(make_values("no-claim", data={"claim": "nowhere"}))
    assert "get pvc nowhere" in notes

    def reason() -> str | None:
        conditions = release.one("pod", "chief")["status"].get("conditions", [])
        return next((c["message"] for c in conditions if c["type"] == "PodScheduled"), None)

    assert '"nowhere" not found' in eventually("the pod's reason", reason, 30)
    release.uninstall()


def test_a_volume_that_cannot_be_written_fails_with_the_values_to_set(
    make_release: Callable[[str], Release],
    make_values: MakeValues,
    unwritable_claim: str,
) -> None:
    release = make_release("unwritable")
    release.install(make_values("unwritable", log={"claim": unwritable_claim}))
    job = release.await_job("chief", "Failed", 90)
    assert _exit_code(release) == 2
    log = _log(release, job)
    assert "/log" in log
    assert "1000:1000" in log
    assert "security.podSecurityContext" in log
    release.uninstall()
