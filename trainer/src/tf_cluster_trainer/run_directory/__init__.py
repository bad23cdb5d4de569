"""What lies in /log/<release>/<run>, but for the tensors. Imports no TensorFlow."""
