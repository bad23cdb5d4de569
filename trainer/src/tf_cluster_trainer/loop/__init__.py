"""The outer loop: steps, reports and checkpoints in turn, whatever strategy makes the steps."""
