"""What is wrong with a params file: one list of findings, and each way to print it."""
