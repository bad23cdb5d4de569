"""Every ps works on its share; who gives up lets no more of it begin."""

from __future__ import annotations

import threading
from collections import Counter

import pytest
from tf_cluster_trainer.ps_volume.shares import PsShares

SHARES = PsShares(range(30), lambda one: f"ps-{one % 3}")


def test_each_item_is_done_once_by_its_ps_in_order() -> None:
    done = list(SHARES.each(lambda device, number, one: (device, number, one)))
    assert sorted(one for _, _, one in done) == [*range(30)]
    assert all(device == f"ps-{one % 3}" and number == one // 3 for device, number, one in done)
    for device in ("ps-0", "ps-1", "ps-2"):
        numbers = [number for its, number, _ in done if its == device]
        assert numbers == [*range(10)]


def test_all_ps_work_at_once() -> None:
    together = threading.Barrier(3, timeout=10)
    assert len(list(SHARES.each(lambda *_: together.wait()))) == 30


def test_an_error_ends_the_shares_of_the_others() -> None:
    begun: Counter[str] = Counter()
    go_on = threading.Event()

    def work(device: str, number: int, _: int) -> None:
        begun[device] += 1
        if device == "ps-1" and number == 2:
            threading.Timer(0.5, go_on.set).start()  # the error is known by then
            raise ValueError("ps-1 has no room")
        if number == 3:
            assert go_on.wait(10)

    with pytest.raises(ValueError, match="ps-1 has no room"):
        list(SHARES.each(work))
    assert begun["ps-1"] == 3
    assert begun["ps-0"] <= 4 and begun["ps-2"] <= 4
    assert len(list(SHARES.each(lambda *_: None))) == 30


@pytest.mark.parametrize("how", ["close", "end"])
def test_who_gives_up_lets_no_more_begin(how: str) -> None:
    begun: list[int] = []
    go_on = threading.Semaphore(3)

    def work(_: str, __: int, one: int) -> int:
        go_on.acquire()
        begun.append(one)
        return one

    running = SHARES.each(work)
    coming = iter(running)
    next(coming)
    if how == "close":
        threading.Timer(0.2, go_on.release, [30]).start()  # those under way are waited for
        coming.close()
    else:
        running.end()
        go_on.release(30)
        list(coming)
    assert len(begun) <= 6
    assert len(list(SHARES.each(lambda *_: None))) == 30
