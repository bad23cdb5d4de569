"""Exports as a server takes them: checked, published, and asked. Imports no TensorFlow.

`tf-cluster serve`, `publish` and `promote` run its commands in Jobs on a claim. docs/formats.md has
what they print.
"""
