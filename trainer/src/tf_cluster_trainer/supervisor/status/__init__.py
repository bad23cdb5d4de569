"""A task's status: its document, the port that shows it, progress.json."""
