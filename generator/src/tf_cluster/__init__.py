"""tf-cluster: from a short parameter file to a training cluster."""
