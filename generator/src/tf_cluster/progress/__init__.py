"""Where a training stands: its status document, and the line of a log that says so."""
