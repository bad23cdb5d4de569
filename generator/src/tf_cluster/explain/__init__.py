"""What a key or a code means, in words that stand in the schemas and beside the checks."""
