"""tf-cluster: from a short parameter file to a training cluster."""

__version__ = "0.1.0"
