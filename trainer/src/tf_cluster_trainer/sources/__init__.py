"""A program's code when it is not in the image. The supervisor's affair; no TensorFlow."""
