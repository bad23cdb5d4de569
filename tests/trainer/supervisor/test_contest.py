"""One writer a run, step by step with a clock of the test's own."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.run_directory import owner as files
from tf_cluster_trainer.run_directory.owner import Owner, Successor, arrived, owns
from tf_cluster_trainer.supervisor.arrivals import arrive
from tf_cluster_trainer.supervisor.election import RunElection
from tf_cluster_trainer.supervisor.rules import arrivals
from tf_cluster_trainer.supervisor.rules.arrivals import PutArrival, ReadArrivals
from tf_cluster_trainer.supervisor.rules.standing import Candidate, Lost, Owning, Superseded

PERIOD, PATIENCE = 3.0, 600.0


@dataclass
class Table:
    """Chiefs around one run directory and one clock."""

    run_dir: Path
    now: float = 0.0
    answering: set[str] = field(default_factory=set)  # Jobs whose chief answers at its status port
    said: list[str] = field(default_factory=list)

    def chief(self, job: str, pod: str = "") -> RunElection:
        pod = pod or f"{job}-pod"
        return RunElection(
            self.run_dir,
            Owner(job, pod, f"attempt-of-{job}", status=f"{pod}:8080"),
            period=PERIOD,
            patience=PATIENCE,
            answers=lambda owner: owner.job_uid in self.answering,
            clock=lambda: self.now,
            log=self.said.append,
        )

    def on_disk(self) -> Owner:
        owner = files.read_owner(self.run_dir)
        assert owner is not None
        return owner


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def test_the_first_chief_owns_the_run_at_once(table: Table) -> None:
    assert table.chief("a").step() == Owning(successor=None)
    assert owns(table.run_dir, "a", "a-pod")
    assert not owns(table.run_dir, "a", "another-pod")


def test_of_two_that_create_the_file_one_owns(table: Table) -> None:
    assert files.create_owner(table.run_dir, Owner("a", "a-pod", "x"))
    assert not files.create_owner(table.run_dir, Owner("b", "b-pod", "y"))
    assert table.on_disk().job_uid == "a"
    assert not list(table.run_dir.glob(".*.tmp"))


@pytest.mark.parametrize("number", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_volume_without_hard_links_has_one_owner_too(
    table: Table, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def no_link(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "link", no_link)
    chief = table.chief("a")
    assert chief.step() == Owning(successor=None)
    assert not files.create_owner(table.run_dir, Owner("b", "b-pod", "y"))
    assert chief.step() == Owning(successor=None)
    assert table.on_disk().job_uid == "a"
    assert not list(table.run_dir.glob(".*.tmp"))


def test_every_step_of_the_owner_renews(table: Table) -> None:
    chief = table.chief("a")
    chief.step()
    before = table.on_disk().counter
    chief.step()
    assert table.on_disk().counter == before + 1


def test_a_new_pod_of_the_same_job_takes_over_at_once(table: Table) -> None:
    old = table.chief("a", "first")
    old.step()
    assert isinstance(table.chief("a", "second").step(), Owning)
    standing = old.step()
    assert standing == Lost("another pod of this Job has taken the run over")
    assert table.on_disk().pod_uid == "second"


def test_a_displaced_pod_does_not_take_the_run_back(table: Table) -> None:
    old = table.chief("a", "first")
    old.step()
    new = table.chief("a", "second")
    new.step()
    assert old.step() == old.step() == Lost("another pod of this Job has taken the run over")
    assert table.on_disk().pod_uid == "second"
    assert isinstance(new.step(), Owning)


def test_a_superseded_chief_stays_so_when_the_run_is_released(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    take_over(table, new)
    assert isinstance(old.step(), Superseded)
    files.replace_owner(table.run_dir, Owner("b", "b-pod", "x", released=True))
    assert isinstance(old.step(), Superseded)
    assert table.on_disk().job_uid == "b"


def test_a_later_job_waits_while_the_owner_renews(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    for _ in range(10):
        assert isinstance(new.step(), Candidate)
        table.now += PERIOD
        assert old.step() == Owning(successor="attempt-of-b")


def test_a_later_job_takes_over_as_soon_as_the_owner_releases(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()
    old.release(superseded=True)
    assert isinstance(new.step(), Owning)
    assert table.on_disk().superseded == ("a",)
    assert isinstance(table.chief("a", "again").step(), Superseded)


def test_a_new_pod_of_the_superseded_job_does_not_take_back_what_was_released(
    table: Table,
) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()
    old.release(superseded=True)
    assert isinstance(table.chief("a", "again").step(), Superseded)
    assert table.on_disk().released
    assert isinstance(new.step(), Owning)


def test_a_later_job_takes_over_when_the_counter_stood_still_for_three_periods(
    table: Table,
) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    assert isinstance(new.step(), Candidate)
    table.now += 3 * PERIOD - 0.1
    assert isinstance(new.step(), Candidate)
    table.now += 0.2
    assert isinstance(new.step(), Owning)
    assert old.step() == Superseded("attempt attempt-of-b has taken the run over")


def test_an_owner_that_answers_keeps_the_run_though_the_disk_takes_no_renewal(
    table: Table,
) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    table.answering = {"a"}
    steps = 0
    while table.now < PATIENCE:
        assert isinstance(new.step(), Candidate)
        table.now += 1
        steps += 1
    assert steps == PATIENCE
    assert old.step() == Owning(successor="attempt-of-b")
    table.answering = set()
    table.now += PERIOD
    assert isinstance(new.step(), Candidate)
    table.now += 3 * PERIOD
    assert isinstance(new.step(), Owning)


def test_an_answer_is_no_renewal_for_ever(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    table.answering = {"a"}
    new.step()
    table.now += PATIENCE - 0.1
    assert isinstance(new.step(), Candidate)
    table.now += 3 * PERIOD
    assert isinstance(new.step(), Owning)
    assert isinstance(old.step(), Superseded)


def test_an_owner_that_was_stopped_together_with_its_successor_has_time_to_renew(
    table: Table,
) -> None:
    """As on a machine that was paused for longer than an answer counts."""
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()
    table.answering = {"a"}
    table.now += 2 * PATIENCE
    assert isinstance(new.step(), Candidate)
    assert old.step() == Owning(successor="attempt-of-b")
    table.now += PERIOD
    assert isinstance(new.step(), Candidate)


def test_one_answer_that_does_not_come_in_time_is_not_the_end_of_an_owner(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()
    for answering in ({"a"}, set(), {"a"}, set()):
        table.answering = set(answering)
        table.now += 2 * PERIOD
        assert isinstance(new.step(), Candidate)


def test_a_new_pod_of_the_owners_job_says_its_own_address(table: Table) -> None:
    table.chief("a", "first").step()
    table.chief("a", "second").step()
    assert table.on_disk().status == "second:8080"


def test_an_owner_that_lost_writes_nothing_more(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()
    table.now += 4 * PERIOD
    new.step()
    before = table.on_disk()
    old.step()
    old.release(superseded=True)
    assert table.on_disk() == before


def stall(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """The next fsync takes so long that all of `meanwhile` happens."""
    fsync = os.fsync

    def slow(number: int) -> None:
        monkeypatch.setattr(os, "fsync", fsync)
        fsync(number)
        meanwhile()

    monkeypatch.setattr(os, "fsync", slow)


def take_over(table: Table, new: RunElection) -> None:
    new.step()
    table.now += 3 * PERIOD + 0.1
    assert isinstance(new.step(), Owning)


def test_a_renewal_that_the_disk_kept_back_is_not_put_over_the_next_owners(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    stall(monkeypatch, lambda: take_over(table, new))
    assert old.step() == Superseded("attempt attempt-of-b has taken the run over")
    assert table.on_disk().job_uid == "b"
    assert new.step() == Owning(successor=None)


def test_a_release_that_the_disk_kept_back_is_not_put_over_the_next_owners(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    stall(monkeypatch, lambda: take_over(table, new))
    old.release(superseded=True)
    assert (table.on_disk().job_uid, table.on_disk().released) == ("b", False)
    assert not list(table.run_dir.glob(".*.tmp"))


@pytest.mark.parametrize("released", [False, True])
def test_a_late_write_of_the_owner_before_is_taken_back(table: Table, released: bool) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    late = replace(table.on_disk(), counter=7, released=released)
    take_over(table, new)
    # The rename itself was late: nothing could be asked in between.
    files.replace_owner(table.run_dir, late)
    assert new.step() == Owning(successor=None)
    assert (table.on_disk().job_uid, table.on_disk().superseded) == ("b", ("a",))
    assert table.on_disk().counter > late.counter
    assert old.step() == Superseded("attempt attempt-of-b has taken the run over")
    assert new.step() == Owning(successor=None)


def test_the_last_posted_candidate_wins_and_the_one_before_ends(table: Table) -> None:
    owner, second, third = table.chief("a"), table.chief("b"), table.chief("c")
    owner.step()
    second.step()
    third.step()
    assert isinstance(second.step(), Superseded)
    # A new pod of the second must not push the third aside.
    assert isinstance(table.chief("b", "again").step(), Superseded)
    owner.release(superseded=True)
    assert isinstance(third.step(), Owning)
    assert set(table.on_disk().superseded) == {"a", "b"}


def test_a_new_pod_of_the_waiting_candidate_goes_on_waiting(table: Table) -> None:
    owner = table.chief("a")
    owner.step()
    table.chief("b", "first").step()
    again = table.chief("b", "second")
    assert isinstance(again.step(), Candidate)
    owner.release(superseded=True)
    assert isinstance(again.step(), Owning)


def test_a_finished_run_is_taken_over_without_waiting(table: Table) -> None:
    done = table.chief("a")
    done.step()
    done.release(superseded=False)
    assert isinstance(table.chief("b").step(), Owning)


def test_an_old_successor_file_does_not_end_its_own_writer(table: Table) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()
    old.release(superseded=True)
    new.step()
    assert new.step() == Owning(successor=None)


def test_a_corrupt_owner_file_is_replaced_only_when_nobody_keeps_it(table: Table) -> None:
    (table.run_dir / layout.OWNER).write_text('{"jobUid": ')
    chief = table.chief("a")
    standing = chief.step()
    assert isinstance(standing, Candidate)
    assert "owner.json: not JSON" in standing.message
    table.now += 3 * PERIOD + 0.1
    assert isinstance(chief.step(), Owning)
    assert any("replacing an owner file that nobody keeps" in said for said in table.said)


def test_a_removed_owner_file_is_not_another_attempts_doing(table: Table) -> None:
    chief = table.chief("a")
    chief.step()
    (table.run_dir / layout.OWNER).unlink()
    standing = chief.step()
    assert isinstance(standing, Lost)
    assert "was the run removed?" in standing.message


@pytest.mark.parametrize("damaged", [False, True])
def test_a_successor_of_the_past_ends_nobody_who_finds_no_owner(
    table: Table, damaged: bool
) -> None:
    old, new = table.chief("a"), table.chief("b")
    old.step()
    new.step()  # posts itself
    owner = table.run_dir / layout.OWNER
    if damaged:
        owner.write_text("")
    else:
        owner.unlink()
    later = table.chief("c")
    for _ in range(2):
        standing = later.step()
        table.now += 3 * PERIOD + 0.1
    assert standing == later.step() == Owning(successor=None)
    assert isinstance(new.step(), Superseded)


def test_a_disk_that_stumbles_does_not_end_the_owner(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    chief = table.chief("a")
    chief.step()

    def full(run_dir: Path, owner: Owner, **_: object) -> bool:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files, "replace_owner", full)
        assert chief.step() == Owning(successor=None)
        assert chief.step() == Owning(successor=None)
    assert sum("No space left" in said for said in table.said) == 1
    assert chief.step() == Owning(successor=None)


def test_an_owner_that_can_not_write_hears_of_its_successor_all_the_same(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, new = table.chief("a"), table.chief("b")
    owner.step()
    new.step()

    def full(run_dir: Path, owner: Owner, **_: object) -> bool:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "replace_owner", full)
    assert owner.step() == Owning(successor="attempt-of-b")


def test_of_two_that_replace_at_once_only_the_last_goes_on(table: Table) -> None:
    owner, candidate = table.chief("a"), table.chief("b")
    owner.step()
    candidate.step()
    owner.release(superseded=True)
    candidate.step()
    files.replace_owner(table.run_dir, replace(table.on_disk(), job_uid="c", pod_uid="c-pod"))
    assert isinstance(candidate.step(), Superseded)


def test_chiefs_are_noted_once_in_the_order_in_which_they_came(tmp_path: Path) -> None:
    for job in ("a", "b", "a", "c", "b"):
        arrive(tmp_path, job)
    assert arrived(tmp_path) == ("a", "b", "c")
    (tmp_path / "attempts/2").write_text('{"jobUid"')  # cut off where there are no hard links
    (tmp_path / "attempts/1").unlink()
    arrive(tmp_path, "d")
    assert arrived(tmp_path) == ("", "c", "d")


def test_a_file_of_attempts_that_can_not_be_read_is_nobodys(tmp_path: Path) -> None:
    arrive(tmp_path, "a")
    (tmp_path / "attempts/2").mkdir()  # for root too, reading it is an OSError
    arrive(tmp_path, "b")
    assert arrived(tmp_path) == ("a", "", "b")


def test_a_chief_notes_itself_once_where_the_disk_can_not_read_what_it_wrote() -> None:
    steps = arrivals.arrive("a")
    assert next(steps) == ReadArrivals()
    assert steps.send({1: ""}) == PutArrival(2, "a")
    assert steps.send(False) == ReadArrivals()  # another one came at the same moment
    assert steps.send({1: "", 2: "b"}) == PutArrival(3, "a")
    with pytest.raises(StopIteration):
        steps.send(True)


def test_an_earlier_attempt_that_was_late_does_not_take_the_run_from_a_later_one(
    table: Table,
) -> None:
    """As one whose parameter server had no node, and that nobody removed."""
    for job in ("a", "b"):
        arrive(table.run_dir, job)
    late, later = table.chief("a"), table.chief("b")
    assert later.step() == Owning(successor=None)
    assert late.step() == Superseded("attempt attempt-of-b, a later one, has the run")
    assert later.step() == Owning(successor=None)
    later.release(superseded=False)  # its pod comes back
    assert isinstance(table.chief("a", "again").step(), Superseded)
    assert isinstance(table.chief("b", "again").step(), Owning)


def test_of_two_that_wait_the_later_attempt_has_the_run(table: Table) -> None:
    for job in ("a", "b", "c"):
        arrive(table.run_dir, job)
    owner, late, later = table.chief("a"), table.chief("b"), table.chief("c")
    owner.step()
    assert isinstance(later.step(), Candidate)
    assert late.step() == Superseded("attempt attempt-of-c, a later one, waits for the run")
    # Both had read that nobody waits, and the earlier one wrote last.
    files.post_successor(table.run_dir, Successor("b", "b-pod", "attempt-of-b"))
    assert isinstance(later.step(), Candidate)
    owner.release(superseded=True)
    assert isinstance(later.step(), Owning)


def test_an_owner_does_not_end_for_an_earlier_attempt(table: Table) -> None:
    for job in ("a", "b"):
        arrive(table.run_dir, job)
    owner = table.chief("b")
    owner.step()
    files.post_successor(table.run_dir, Successor("a", "a-pod", "attempt-of-a"))
    assert owner.step() == Owning(successor=None)


def test_a_rollback_is_a_later_attempt_than_the_one_that_it_takes_back(table: Table) -> None:
    """Its settings, and so its name, are those of one before; its Job is another one."""
    for job in ("a", "b", "a-again"):
        arrive(table.run_dir, job)
    bad, back = table.chief("b"), table.chief("a-again")
    bad.step()
    assert isinstance(back.step(), Candidate)
    bad.release(superseded=True)
    assert isinstance(back.step(), Owning)


def test_of_two_that_take_the_run_at_once_the_later_attempt_has_it(table: Table) -> None:
    """The earlier one's write was held up by the disk, and came down on the later one's."""
    for job in ("a", "b", "c"):
        arrive(table.run_dir, job)
    table.chief("a").step()
    later = table.chief("c")
    later.step()
    files.replace_owner(table.run_dir, replace(table.on_disk(), released=True))
    assert isinstance(later.step(), Owning)
    files.replace_owner(table.run_dir, Owner("b", "b-pod", "attempt-of-b", counter=9))
    assert isinstance(later.step(), Owning)
    assert table.on_disk().job_uid == "c"


def test_a_run_that_another_takes_meanwhile_is_not_taken(table: Table) -> None:
    """Between the flush, which a bad disk holds up, and the rename the owner is read again."""
    table.chief("a").step()
    candidate = table.chief("b")
    candidate.step()
    files.replace_owner(table.run_dir, replace(table.on_disk(), released=True))
    taken = Owner("c", "c-pod", "attempt-of-c", counter=9)
    real, calls = files.read_owner, iter((None, taken))

    def read(run_dir: Path) -> Owner | None:
        other = next(calls, None)
        if other is not None:
            files.replace_owner(run_dir, other)
        return real(run_dir)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(files, "read_owner", read)
        assert isinstance(candidate.step(), Candidate)
    assert table.on_disk() == taken
