"""Ends an attempt in Kubernetes."""
