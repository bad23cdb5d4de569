"""Exit codes, and the one exception that ends the command with words instead of a traceback."""

GOOD = 0
FINDINGS = 1
"""The input has findings, `--check` saw a difference, or a training failed."""
TROUBLE = 2
"""Usage, input or output trouble, a configuration or program error of a training, or a bug."""
INTERRUPTED = 130
TERMINATED = 143


class RefusedError(Exception):
    """The command can't go on; the text says why and what to do. Ends with `TROUBLE`."""
