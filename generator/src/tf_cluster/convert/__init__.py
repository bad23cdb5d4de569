"""From a TFJob, the manifest of Kubeflow's training operator, to a params file."""
