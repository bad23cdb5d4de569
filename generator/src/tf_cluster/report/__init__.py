"""One list of findings, many ways to print it. Each printer is a function to text."""
