"""`python -m tf_cluster` is the command `tf-cluster`."""

from tf_cluster.cli import main

main()
