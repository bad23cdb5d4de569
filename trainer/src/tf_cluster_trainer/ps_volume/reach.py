"""Whether the ps reach the volume with the run's directory, so that they can write and read there.

The chief leaves a token in a directory of its own, and each ps leaves it again beside it.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from pathlib import Path
from typing import Any

import tensorflow as tf

from tf_cluster_trainer.config import ConfigError
from tf_cluster_trainer.log import INFO, WARNING, log
from tf_cluster_trainer.run_directory import layout
from tf_cluster_trainer.servers import ps_files
from tf_cluster_trainer.servers.lost import is_peer_lost

Ask = Callable[[Sequence[str]], Iterable[bytes]]
"""Put two words, a directory and a token, to every ps: the answer of each, "" if it is well."""

DEADLINE_SECONDS = 30.0
"""How long a ps' volume may take to answer."""
# What TensorFlow says of a ps whose process has no servers/ps_files.py.
UNKNOWN = (
    tf.errors.InvalidArgumentError,
    tf.errors.NotFoundError,
    tf.errors.UnimplementedError,
)


def reach(run_dir: Path, wanted: bool | None, ask: Ask, *, check_owner: Callable[[], None]) -> bool:
    """Whether the ps write and read the large tensors of checkpoints; the log says why not.

    `wanted` is the setting: None is for where they can. Raises ConfigError if it is True and a ps
    does not mount the volume, NotOwnerError, and what `ask` raises of a lost ps.
    """
    if wanted is False:
        log("the large tensors of checkpoints go through this task: ps.logVolume is false")
        return False
    check_owner()
    said = _why_not(run_dir, ask)
    reason = said.removeprefix(ps_files.NOT_MOUNTED)
    if wanted and said != reason:
        raise ConfigError(
            f"ps.logVolume is true, but {reason}; mount the log volume in the ps, or say auto"
        )
    if reason:
        level = WARNING if wanted else INFO
        log(f"the large tensors of checkpoints go through this task: {reason}", level)
    else:
        log("the ps write and read the large tensors of checkpoints themselves")
    return not reason


def remove_left(run_dir: Path) -> None:
    """Remove what a killed task left of its try. Only the run's owner may call it."""
    for left in run_dir.glob(f"{layout.REACH}{layout.TEMPORARY}*"):
        shutil.rmtree(left, ignore_errors=True)


def reach_op(device: str, task: str, directory_and_token: Any) -> Any:
    """An operation on a ps that leaves the token in the directory, under the task's name.

    Its result is "" or what went wrong.
    """
    with tf.device(device):
        return ps_files_op(ps_files.REACH, tf.concat([directory_and_token, [task]], 0))


def ps_files_op(question: str, words: Any, values: Sequence[Any] = ()) -> Any:
    """Put a question of servers/ps_files.py to the ps of the device scope."""
    return tf.raw_ops.PyFunc(input=[words, *values], token=question, Tout=[tf.string])[0]


def _why_not(run_dir: Path, ask: Ask) -> str:
    """The reason; "" if all ps reach the directory. As an answer to REACH begins, so may it."""
    token = uuid.uuid4().hex
    directory = run_dir / f"{layout.REACH}{layout.TEMPORARY}{token[:8]}"
    try:
        directory.mkdir()
        (directory / ps_files.TOKEN).write_text(token, encoding="utf-8")
        for task, said in enumerate(_in_time(ask, [str(directory), token])):
            words = said.decode(errors="replace")
            if words.startswith(ps_files.NOT_MOUNTED):
                why = words.removeprefix(ps_files.NOT_MOUNTED)
                return f"{ps_files.NOT_MOUNTED}ps-{task} does not reach the log volume ({why})"
            if words:
                return f"ps-{task} can't use the log volume ({words})"
            if (directory / f"ps-{task}").read_text(encoding="utf-8") != token:
                return f"what ps-{task} writes into the log volume arrives changed"
    except futures.TimeoutError:
        return f"a ps did not answer in {DEADLINE_SECONDS:g} s; does its volume hang?"
    except OSError as error:
        return f"it can't be tried ({error})"
    except UNKNOWN as error:
        if is_peer_lost(error):
            raise
        return "a ps does not know how; is its image another one?"
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    return ""


def _in_time(ask: Ask, words: Sequence[str]) -> list[bytes]:
    """Ask in a thread: an answer of a volume that hangs never comes."""
    thread = futures.ThreadPoolExecutor(1, "ps-reach")
    try:
        return thread.submit(lambda: [*ask(words)]).result(DEADLINE_SECONDS)
    finally:
        thread.shutdown(wait=False)
