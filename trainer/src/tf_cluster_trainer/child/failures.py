"""Maps an error to an exit code and to words for people."""

from __future__ import annotations

import errno
import re
import socket
import traceback
from dataclasses import dataclass
from pathlib import Path

import tensorflow as tf

from tf_cluster_trainer import exit_codes
from tf_cluster_trainer.config import ConfigError
from tf_cluster_trainer.errors import (
    HookError,
    NotOwnerError,
    PeerLostError,
    ProgramError,
    ReplacedError,
    with_causes,
)
from tf_cluster_trainer.servers.lost import CARRIED, Servers, are_lost, is_peer_lost, unwrapped

# Errors of disks and networks that a retry may cure; it does not cure a missing file.
_PASSING = {
    *(errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EDQUOT, errno.EAGAIN),
    *(errno.ENETUNREACH, errno.ENETDOWN, errno.EHOSTUNREACH, errno.EHOSTDOWN),
}
# The same without an errno: Python's, and those that TensorFlow's file systems raise for a network.
_PASSING_KINDS = (
    *(ConnectionError, TimeoutError, socket.gaierror),
    *(tf.errors.UnavailableError, tf.errors.DeadlineExceededError, tf.errors.AbortedError),
)
_WHERE_MADE = re.compile(r'Detected at node|  File "|    ')
_UNAVAILABLE = re.compile(r"<stack traces unavailable>\s*")
_COUNTED = re.compile(r"^\d+ root error\(s\) found\.\s+\(0\) [A-Z_]+:\s*")
# What follows the first error's own words: the node, and the errors that it caused.
_AFTERWARDS = re.compile(r"\s*\[\[\{\{node .*|\s+\(1\) [A-Z_]+: .*", re.DOTALL)
# AutoGraph runs the step's Python from generated files, and names the true lines in the message.
_CONVERTED = re.compile(r' {4}File "(.+)", line (\d+), in (.+?)(?: {2}\*+)?\n {8}.*\n')
_OF_AUTOGRAPH = "in user code:\n"
_MADE_EARLY = "Client for target /job:localhost"
_TARGET = re.compile(r"remote target /job:(\w+)/(?:replica:\d+/)?task:(\d+)")
_TASK = re.compile(r"/job:(\w+)/(?:replica:\d+/)?task:(\d+)")


@dataclass(frozen=True)
class Explained:
    """An exit code, one sentence, further details for people, and the lost tasks."""

    code: int
    message: str
    details: str = ""
    lost: tuple[str, ...] = ()


def explain(error: BaseException, servers: Servers | None = None) -> Explained:
    """Explain what ended a child; ask the servers that it depends on, if any, which is gone."""
    error = unwrapped(error)
    if isinstance(error, NotOwnerError | ReplacedError):
        return Explained(exit_codes.NOT_OWNER, str(error))
    if isinstance(error, PeerLostError):
        silent = servers.lost_any() if servers and error.lost is None else ()
        return Explained(exit_codes.PEER_LOST, str(error), lost=tuple(error.lost or silent))
    if isinstance(error, HookError):
        return _of_the_program(error.words, error.cause, servers)
    if isinstance(error, ProgramError | ConfigError):
        return Explained(exit_codes.CONFIG, str(error))
    if _MADE_EARLY in str(error):
        return Explained(
            exit_codes.CONFIG,
            "the program uses a tf.Variable (or a table) that it made when it was imported or "
            "constructed, before the cluster was connected; make it in build_model or dataset",
            users_traceback(error),
        )
    if is_peer_lost(error):
        lost = servers.lost_needed() or servers.lost_any() if servers else ()
        who = are_lost(lost) if lost else f"{_who(str(error))} is lost"
        words = _one_line(_without_frames(str(error)))
        return Explained(exit_codes.PEER_LOST, f"{who} ({type(error).__name__})", words, lost)
    in_a_step = isinstance(error, tf.errors.OpError) or str(error).startswith(_OF_AUTOGRAPH)
    if in_a_step or _frames_of_user(error):
        where = f"the program failed while training: {type(error).__name__}"
        return _of_the_program(where, error, servers)
    return Explained(
        exit_codes.FAILED,
        f"{type(error).__name__}: {_one_line(str(error))}",
        "".join(traceback.format_exception(error)),
    )


def _of_the_program(where: str, error: BaseException, servers: Servers | None) -> Explained:
    """Explain an error in the program's own code: its fault, a disk's, or that of a lost task.

    A step that a lost ps cancels raises what its parts make of that: waiting data raises "End of
    sequence", as if the program had given too little. In a hook the words prove nothing, because a
    hook may itself use TensorFlow to reach others, for example a bucket.
    """
    sentence = f"{where}: {_reason(error)}"
    lost: tuple[str, ...] = ()
    if isinstance(error, tf.errors.OpError) and servers:
        lost = servers.lost_needed() if servers.outlive_errors or is_peer_lost(error) else ()
    if lost:
        code, sentence = exit_codes.PEER_LOST, f"{are_lost(lost)}, and with that {sentence}"
    else:
        code = exit_codes.FAILED if _may_pass(error) else exit_codes.CONFIG
    return Explained(code, sentence, users_traceback(error), lost)


def _may_pass(error: BaseException) -> bool:
    """Whether a disk or a network is at fault."""
    return any(
        isinstance(one, _PASSING_KINDS) or (isinstance(one, OSError) and one.errno in _PASSING)
        for one in with_causes(error)
    )


def _who(text: str) -> str:
    found = set(_TARGET.findall(text) or _TASK.findall(text))
    # Workers pass on errors of a ps; a lost worker alone never ends us.
    ps = {one for one in found if one[0] == "ps"}
    return " or ".join(sorted(f"{kind}-{index}" for kind, index in ps or found)) or "a task"


def users_traceback(error: BaseException) -> str:
    """The traceback: the user's own frames first, and again in their place."""
    users = _frames_of_user(error)
    lines = ["Traceback of the program (its own frames, most recent call last):\n"]
    lines += traceback.format_list(users)
    lines += traceback.format_exception_only(error)
    whole = ["", "The whole traceback:\n", *traceback.format_exception(error)]
    return "".join([*(lines if users else []), *whole]).rstrip()


def _frames_of_user(error: BaseException) -> list[traceback.FrameSummary]:
    ours = str(Path(__file__).parents[1])
    libraries = ("/site-packages/", "/dist-packages/", "<frozen ", "/lib/python")
    frames: list[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    text = str(error)
    if text.startswith(_OF_AUTOGRAPH):
        frames = [
            traceback.FrameSummary(file, int(line), name)
            for file, line, name in _CONVERTED.findall(text)
        ]
    return [
        frame
        for frame in frames
        if (not frame.filename.startswith(ours) or "/examples/" in frame.filename)
        and not any(part in frame.filename for part in libraries)
    ]


def _reason(error: BaseException) -> str:
    """The error in one line: of TensorFlow's message, the first error's own words."""
    text = _without_frames(str(error))
    if text.startswith(_OF_AUTOGRAPH):
        text = _CONVERTED.sub("", text).removeprefix(_OF_AUTOGRAPH).strip()
        return _one_line(text.removeprefix(f"{type(error).__name__}: "))
    own = text.partition(f"Additional {CARRIED}")[0] if isinstance(error, tf.errors.OpError) else ""
    counted = _COUNTED.search(own)
    if counted:
        own = _AFTERWARDS.sub("", own[counted.end() :])
    return _one_line(own or text)


def _without_frames(text: str) -> str:
    """Drop the pages on where the graph's nodes were made, which precede the error itself."""
    text = _UNAVAILABLE.sub("", text)
    if not text.startswith("Graph execution error"):
        return text
    kept = [line for line in text.splitlines()[1:] if not _WHERE_MADE.match(line)]
    return "\n".join(kept).strip() or text


def _one_line(text: str, limit: int = 400) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
