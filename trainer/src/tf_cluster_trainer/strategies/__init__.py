"""How the steps are made: one module per combination of strategy, replication and update."""
