"""A real Kubernetes on this machine, for tests: one node, built from Go modules and Debian packages."""
