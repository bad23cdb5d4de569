"""The ps write and read large tensors of checkpoints themselves, if they reach the log volume."""
