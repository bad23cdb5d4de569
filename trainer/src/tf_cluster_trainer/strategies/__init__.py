"""How steps are made: a folder for each strategy, and `step/`, which they share."""
