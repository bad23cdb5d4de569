"""PID 1 of every task: one child, the status port, the rules of the attempt. No TensorFlow."""
