"""TensorFlow's gRPC servers: this process' own, and the state of those of other tasks."""
