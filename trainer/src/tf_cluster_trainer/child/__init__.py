"""The supervisor's one child: everything that imports TensorFlow starts here.

`python -m tf_cluster_trainer.child` with the environment of docs/formats.md and the two pipes of
tf_cluster_trainer.protocol.
"""
