"""Checkpoints: their form, the variables they hold, reading, writing and exporting them."""
