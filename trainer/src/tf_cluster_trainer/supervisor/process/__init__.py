"""The one child of a task, which dies with its supervisor."""
