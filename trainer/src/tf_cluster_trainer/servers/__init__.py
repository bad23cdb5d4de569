"""TensorFlow's gRPC servers: this process' own, and whether those of other tasks are there."""
