"""Tasks ask each other over their status ports."""
