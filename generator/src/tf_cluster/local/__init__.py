"""`tf-cluster run`: the roles of a cluster as processes of this machine."""
