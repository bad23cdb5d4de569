"""The files in /log/<release>/<run>, except the tensors. Imports no TensorFlow."""
