"""The exit codes of the trainer's processes (docs/formats.md)."""

DONE = 0
FAILED = 1
CONFIG = 2
STOPPED = 42
PEERS_LOST = 43

# Between child and supervisor only: this child lost a peer, a new child may find it again; or the
# checkpoint was damaged, a new child takes the one before.
PEER_LOST = 44
# Between child and supervisor only: another attempt owns the run now; nothing was written.
NOT_OWNER = 45


def of_script(code: int) -> int:
    """The exit code of a task whose script ended with `code`: the same, except 42 and 43.

    Those two tell the platform what only a supervisor knows; they become 1.
    """
    return FAILED if code in (STOPPED, PEERS_LOST) else code
