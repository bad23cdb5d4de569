"""The one child of a task, and how it is tied to its supervisor."""
