"""The trainer: supervisor, strategies and loop of every task."""
