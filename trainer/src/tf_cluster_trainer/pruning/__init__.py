"""What lies in /log of runs that ended, and its removal. Imports no TensorFlow.

`tf-cluster prune runs` asks for both, in a Job on the claim. docs/formats.md has what they print.
"""
