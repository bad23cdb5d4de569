"""Fetches a program's code that is not in the image; the supervisor does it. No TensorFlow."""
