"""Two rules whose breaking costs a training steps or time, and no schedule of the simulation."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from tf_cluster_trainer.config import COMBINATIONS
from tf_cluster_trainer.supervisor.rules import chief_turn, farewell, guard
from tf_cluster_trainer.supervisor.rules.events import Event, PeerReplaced, PeerSeen
from tf_cluster_trainer.supervisor.rules.farewell import Leave, Stay, WriteAgain
from tf_cluster_trainer.supervisor.rules.gate import Health
from tf_cluster_trainer.supervisor.rules.guard import Guarded
from tf_cluster_trainer.supervisor.rules.visits import Visits
from tf_cluster_trainer.supervisor.timing import Timing

from tests.trainer.simulation.attempt import Attempt

OURS = Health(True, None, "a1", "ps-0", "x/0")
OTHER = Health(True, None, "a1", "ps-0", "y/0")
LOADING = Health(False, None, "a1", "ps-0", "y/0")
STRANGER = Health(True, None, "a2", "ps-0", "y/0")
SILENCE = Health(False, None, "", "", reason="refuses connections")


def guarded(answers: Iterable[Health]) -> list[Event]:
    peer, found = Guarded("ps-0", "a1", "x/0"), list[Event]()
    for answer in answers:
        peer, events = guard.look(peer, answer, 1)
        found += events
    return found


@pytest.mark.parametrize(
    ("answers", "times"),
    [
        ([OTHER], 0),
        ([OTHER, OURS, OTHER], 0),
        ([OTHER, SILENCE, OTHER], 0),
        ([OTHER, LOADING, OTHER], 0),
        ([STRANGER, STRANGER], 0),
        ([SILENCE] * 9, 0),
        ([OTHER, OTHER], 1),
        ([OTHER] * 9, 1),
        ([OTHER, OTHER, OURS, OURS], 2),
    ],
)
def test_a_peer_was_replaced_when_another_server_answers_twice_in_a_row(
    answers: list[Health], times: int
) -> None:
    replaced = [event for event in guarded(answers) if isinstance(event, PeerReplaced)]
    assert replaced == [PeerReplaced(1, "ps-0")] * times


def test_whether_a_peer_answers_is_told_at_first_and_on_change() -> None:
    seen = guarded([SILENCE, SILENCE, OURS, OURS, SILENCE])
    assert seen == [PeerSeen(1, "ps-0", health) for health in (SILENCE, OURS, SILENCE)]
    assert guarded([OURS, OURS]) == [PeerSeen(1, "ps-0", OURS)]


def chief() -> chief_turn.Chief:
    attempt = Attempt("a1", COMBINATIONS[0], 2, 1, 100, 5, 40.0, evaluator=True, backoff=6)
    return chief_turn.Chief(attempt.config("chief", 0, "cj", "pod"), Timing())


def test_a_chief_stays_until_every_worker_and_the_evaluator_know_the_end() -> None:
    visits = (
        Visits().asked("worker-0", "w", 0.0).asked("evaluator-0", "e", 95.0).asked("ps-0", "", 99.0)
    )
    begun = farewell.begin(chief(), visits, 100.0)
    for task in ("worker-0", "evaluator-0", "worker-1"):
        assert farewell.look(begun, visits, 101.0, stood=True, refused=False) == (begun, Stay())
        visits = visits.knows_the_end(task)
    assert farewell.look(begun, visits, 101.0, stood=True, refused=False) == (begun, Leave())


def test_a_chief_waits_for_no_evaluator_that_has_not_asked_lately() -> None:
    visits = (
        Visits().asked("evaluator-0", "e", 89.0).knows_the_end("worker-0").knows_the_end("worker-1")
    )
    begun = farewell.begin(chief(), visits, 100.0)
    assert farewell.look(begun, visits, 100.0, stood=True, refused=False)[1] == Leave()


def test_a_chief_leaves_in_time_and_says_so() -> None:
    begun = farewell.begin(chief(), Visits(), 100.0)
    assert farewell.look(begun, Visits(), 114.9, stood=True, refused=False)[1] == Stay()
    _, then = farewell.look(begun, Visits(), 115.0, stood=True, refused=True)
    assert isinstance(then, Leave)
    assert then.words


def test_a_final_state_that_the_disk_refused_is_written_every_second() -> None:
    visits = Visits().knows_the_end("worker-0").knows_the_end("worker-1")
    now = farewell.begin(chief(), visits, 100.0)
    found = []
    for tenth in range(25):
        now, then = farewell.look(now, visits, 100.0 + tenth / 10, stood=True, refused=True)
        found.append(then)
    assert [tenth for tenth, then in enumerate(found) if then == WriteAgain()] == [10, 20]
    assert set(map(type, found)) == {Stay, WriteAgain}
    # One that never stood for election has no run to write to.
    assert farewell.look(now, visits, 103.0, stood=False, refused=True)[1] == Leave()
