"""A real Kubernetes on this machine, for tests: one node, from Go modules and Debian packages."""
