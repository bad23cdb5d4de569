"""The outer loop: steps, reports and checkpoints in turn, for every strategy."""
