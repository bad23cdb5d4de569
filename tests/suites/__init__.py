"""`make test`: every suite in turn, timed, with one summary at the end."""
