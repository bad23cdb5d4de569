"""What is known of those who make volumes for a StorageClass, by their names."""

REMOVED = {
    "kubernetes.io/scaleio": 22,
    "kubernetes.io/flocker": 25,
    "kubernetes.io/quobyte": 25,
    "kubernetes.io/storageos": 25,
    "kubernetes.io/glusterfs": 26,
    "kubernetes.io/rbd": 31,
}
"""Provisioners that were part of Kubernetes, and the minor version 1.x that has them no more."""
OF_ONE_NODE = {
    "ebs.csi.aws.com",
    "kubernetes.io/aws-ebs",
    "disk.csi.azure.com",
    "kubernetes.io/azure-disk",
    "cinder.csi.openstack.org",
    "topolvm.io",
    "dobs.csi.digitalocean.com",
    "csi.hetzner.cloud",
    "linodebs.csi.linode.com",
}
"""Provisioners whose volumes, with a file system on them, one node at a time can mount."""
