"""all-reduce: every worker has a copy of the model."""
