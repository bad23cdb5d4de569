"""YAML as Helm reads it, and YAML that every reader types the same."""
