"""How the steps are made: a folder a strategy, and `step/`, which they share."""
