"""Whose fault an error is, by TensorFlow's kinds and words."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.distribute.coordinator.cluster_coordinator import ClosureInputError
from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.child import failures
from tf_cluster_trainer.child.failures import explain
from tf_cluster_trainer.config import COMBINATIONS, Cluster
from tf_cluster_trainer.errors import HookError, PeerLostError
from tf_cluster_trainer.servers.lost import Servers, is_peer_lost

from tests.ports import free_port
from tests.trainer.child.programs.broken import RaisesWhileTraining as Broken

# By the words in which people speak of them.
WAYS = {
    row.strategy if not row.has_ps else f"{row.replication}-{row.update}": row
    for row in COMBINATIONS
}
CARRIED = (
    "\nAdditional GRPC error information from remote target /job:worker/replica:0/task:0 "
    "while calling /tensorflow.eager.EagerService/Enqueue:\n:UNKNOWN:Error received from peer"
)


def error(kind: type[tf.errors.OpError], text: str) -> tf.errors.OpError:
    return kind(None, None, text)


@pytest.mark.parametrize(
    "kind",
    [
        tf.errors.NotFoundError,
        tf.errors.InvalidArgumentError,
        tf.errors.OutOfRangeError,
        tf.errors.DataLossError,
    ],
)
def test_a_programs_error_that_crossed_the_wire_is_still_the_programs(
    kind: type[tf.errors.OpError],
) -> None:
    explained = explain(ClosureInputError(error(kind, "what was wrong" + CARRIED)))
    assert explained.code == exit_codes.CONFIG
    assert explained.message.endswith(f"{kind.__name__}: what was wrong")


@pytest.mark.parametrize(
    "kind",
    [
        tf.errors.UnavailableError,
        tf.errors.AbortedError,
        tf.errors.InternalError,
        tf.errors.UnknownError,
        tf.errors.CancelledError,
        tf.errors.DeadlineExceededError,
        tf.errors.FailedPreconditionError,
    ],
)
def test_an_error_of_the_wire_is_a_lost_peer(kind: type[tf.errors.OpError]) -> None:
    assert is_peer_lost(error(kind, "" + CARRIED))
    assert is_peer_lost(ClosureInputError(error(kind, "" + CARRIED)))


@pytest.mark.parametrize(
    "text",
    [
        "Unable to find a context_id matching the specified one",
        "Resource localhost/dense/kernel/N10tensorflow3VarE does not exist",
    ],
)
def test_a_task_that_came_back_empty_is_a_lost_peer(text: str) -> None:
    assert is_peer_lost(error(tf.errors.InvalidArgumentError, text + CARRIED))


def test_a_heartbeat_without_an_answer_is_a_lost_peer() -> None:
    """TensorFlow's own words for it; a deadline that a program's own step missed is its error."""
    text = (
        "Collective ops is aborted by: Deadline Exceeded\n\n"
        "RPC: /tensorflow.CoordinationService/Heartbeat\n"
        "The error could be from a previous operation. Restart your program to reset."
    )
    assert is_peer_lost(error(tf.errors.DeadlineExceededError, text))
    assert not is_peer_lost(error(tf.errors.DeadlineExceededError, "Timed out reading a queue"))


def test_a_hook_that_failed_on_the_way_to_a_worker_is_named() -> None:
    explained = explain(ClosureInputError(HookError("dataset", ValueError("no such column"))))
    assert explained.code == exit_codes.CONFIG
    assert "failed in dataset: ValueError: no such column" in explained.message


def test_only_those_that_are_named_are_lost_where_some_are() -> None:
    """Others may have left by agreement: nobody answers at these addresses."""
    free = tuple(f"127.0.0.1:{free_port()}" for _ in range(3))
    servers = Servers(
        Cluster("test", {"worker": free}, {"worker": free}, ""), WAYS["all-reduce"], "worker-0"
    )
    known = explain(PeerLostError("worker-1 was stopped", ["worker-1"]), servers)
    assert known.lost == ("worker-1",)
    assert explain(PeerLostError("lost"), servers).lost == ("worker-1", "worker-2")


def nobody(way: str) -> Servers:
    """Those of a cluster with one other task of each kind, none of which serves."""
    row, here = WAYS[way], (f"127.0.0.1:{free_port()}",)
    there = {"chief": row.has_chief, "worker": True, "ps": row.has_ps}
    hosts = dict.fromkeys((kind for kind, some in there.items() if some), here)
    return Servers(Cluster("test", hosts, {}, ""), row, "")


@pytest.mark.parametrize(
    ("servers", "lost"),
    [
        pytest.param(nobody("in-graph-sync"), ("ps-0", "worker-0"), id="in-graph sync"),
        # A worker that is away ends no step; one may be away for hours.
        pytest.param(nobody("in-graph-async"), ("ps-0",), id="in-graph async"),
        # Other workers end by the same error of the program as this one.
        pytest.param(nobody("between-graph-sync"), ("ps-0",), id="between-graph"),
    ],
)
def test_an_error_of_a_step_is_no_programs_where_a_server_is_gone(
    servers: Servers, lost: tuple[str, ...]
) -> None:
    """What a cancelled step says may be of data that it waited for. It is told all the same."""
    ended = error(tf.errors.OutOfRangeError, "End of sequence" + CARRIED)
    explained = explain(ClosureInputError(ended), servers)
    assert (explained.code, explained.lost) == (exit_codes.PEER_LOST, lost)
    names = " and ".join(lost) + (" are" if len(lost) > 1 else " is")
    assert explained.message == (
        f"{names} lost, and with that the program failed while training: "
        "OutOfRangeError: End of sequence"
    )
    assert "OutOfRangeError" in explained.details


def test_in_all_reduce_an_error_of_a_step_is_the_programs_unless_its_words_are_of_a_loss() -> None:
    """All workers end by the same error of the program, each with its server."""
    servers = nobody("all-reduce")
    assert explain(error(tf.errors.OutOfRangeError, "End"), servers).code == exit_codes.CONFIG
    lost = explain(error(tf.errors.UnavailableError, "Socket closed"), servers)
    assert (lost.code, lost.lost) == (exit_codes.PEER_LOST, ("worker-0",))


@pytest.mark.parametrize(
    ("servers", "code"),
    [
        (nobody("in-graph-sync"), exit_codes.PEER_LOST),
        (nobody("all-reduce"), exit_codes.PEER_LOST),
        (None, exit_codes.FAILED),  # in the trial nobody has to be there yet
    ],
)
def test_a_hook_that_works_on_the_cluster_fails_with_a_server_that_is_gone(
    servers: Servers | None, code: int
) -> None:
    hook = HookError("build_model", error(tf.errors.UnavailableError, "Connection reset"))
    explained = explain(hook, servers)
    assert explained.code == code
    assert "the program failed in build_model: UnavailableError" in explained.message
    if servers:
        servers.release()  # as after the last step
        assert explain(hook, servers).code == exit_codes.FAILED
    wrong = HookError("build_model", ValueError("no such layer"))
    assert explain(wrong, servers).code == exit_codes.CONFIG


def test_of_several_errors_the_first_ones_own_words_are_told() -> None:
    several = (
        "<stack traces unavailable>\n<stack traces unavailable>\n2 root error(s) found.\n"
        "  (0) OUT_OF_RANGE:  End of sequence\n\t [[{{node while/IteratorGetNext}}]]\n"
        "  (1) CANCELLED:  EagerClusterFunctionLibraryRuntime::Run\n"
        "0 successful operations.\n1 derived errors ignored."
    )
    explained = explain(error(tf.errors.OutOfRangeError, several + CARRIED))
    assert explained.message.endswith("OutOfRangeError: End of sequence")


def of_a_hook(cause: Exception) -> HookError:
    return HookError("dataset", cause)


def test_a_network_or_disk_that_fails_in_a_hook_is_worth_another_try() -> None:
    assert explain(of_a_hook(OSError(errno.EIO, "I/O error"))).code == exit_codes.FAILED
    try:
        try:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
        except OSError as error:
            raise RuntimeError("upload failed") from error
    except RuntimeError as wrapped:
        assert explain(of_a_hook(wrapped)).code == exit_codes.FAILED


@pytest.mark.parametrize(
    "cause",
    [
        FileNotFoundError(errno.ENOENT, "no such file"),
        OSError("not an image"),
        ValueError("no"),
    ],
)
def test_what_a_retry_finds_again_is_the_programs(cause: Exception) -> None:
    assert explain(of_a_hook(cause)).code == exit_codes.CONFIG


@pytest.mark.parametrize(
    "cause",
    [
        TimeoutError("timed out"),
        socket.gaierror(-3, "try again"),
        ConnectionError("lost"),
        tf.errors.UnavailableError(None, None, "gs://data: HTTP 503"),
        tf.errors.DeadlineExceededError(None, None, "gs://data: no answer"),
        tf.errors.AbortedError(None, None, "/data/part-1; Stale file handle"),
    ],
)
def test_a_network_error_without_a_number_is_one(cause: Exception) -> None:
    assert explain(of_a_hook(cause)).code == exit_codes.FAILED


def test_data_that_comes_too_late_in_a_step_is_worth_another_try_too() -> None:
    late = tf.errors.DeadlineExceededError(None, None, "gs://data: no answer")
    assert explain(late).code == exit_codes.FAILED


def test_an_error_that_hides_its_cause_is_judged_by_itself() -> None:
    try:
        try:
            raise ConnectionError("lost")
        except OSError:
            raise ValueError("no such model") from None
    except ValueError as error:
        assert explain(of_a_hook(error)).code == exit_codes.CONFIG


def test_an_error_in_a_converted_step_is_told_by_the_programs_own_lines() -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def step(numbers: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            numbers = Broken().loss(numbers, numbers)
        return numbers

    with pytest.raises(ValueError, match="in user code") as raised:
        step(tf.zeros([8]))
    explained = explain(raised.value)
    assert explained.code == exit_codes.CONFIG
    assert "failed while training: ValueError: Cannot reshape a tensor" in explained.message
    own, whole = explained.details.split("The whole traceback:")
    assert 'broken.py", line ' in own
    assert "__autograph_generated_file" not in own
    assert "__autograph_generated_file" in whole


def test_an_error_in_a_converted_step_that_is_none_of_the_programs_lines_is_still_not_retried() -> (
    None
):
    ours = str(Path(failures.__file__).parent / "step.py")
    text = (
        f'in user code:\n\n    File "{ours}", line 9, in of  *\n        x = y\n\n    ValueError: no'
    )
    explained = explain(ValueError(text))
    assert (explained.code, explained.message) == (
        exit_codes.CONFIG,
        "the program failed while training: ValueError: no",
    )
