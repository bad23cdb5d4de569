"""The chart: its documentation made from values.yaml, and a lint of its values."""
