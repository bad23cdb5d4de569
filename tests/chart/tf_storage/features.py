"""The values of each golden file of charts/tf-storage, and the Kubernetes that each is for."""

from __future__ import annotations

from typing import Any

OLD, NEW = "1.25.16", "1.36.3"

HEKETI: dict[str, Any] = {
    "resturl": "http://10.0.0.5:8080",
    "restauthenabled": True,
    "restuser": "admin",
    "secretNamespace": "kube-system",
    "secretName": "heketi",
    "clusterid": "630372ccdc720a92c681fb928f27b53f",
    "gidMin": 40000,
    "gidMax": 50000,
    "volumetype": "replicate:2",
    "volumeoptions": "client.ssl on, diagnostics.brick-log-level DEBUG",
    "volumenameprefix": "training",
    "snapfactor": 1.5,
    "customepnameprefix": "training",
}
NFS = {"server": "nfs.example", "share": "/exports"}

FEATURES: dict[str, tuple[str, dict[str, Any]]] = {
    "nothing": (NEW, {}),
    "heketi": (OLD, {"classes": {"gluster": {"kind": "heketi", "heketi": HEKETI}}}),
    "heketi-with-a-key": (
        OLD,
        {
            "classes": {
                "gluster": {
                    "kind": "heketi",
                    "heketi": {
                        "resturl": "http://10.0.0.5:8080",
                        "restuser": "admin",
                        "restuserkey": "secret",
                        "snapfactor": 2,
                    },
                }
            }
        },
    ),
    "kadalu": (
        NEW,
        {
            "classes": {
                "pool": {"kind": "kadalu", "kadalu": {"storage_name": "pool"}},
                "external": {
                    "kind": "kadalu",
                    "kadalu": {
                        "hostvol_type": "External",
                        "storage_type": "Replica2",
                        "gluster_hosts": "10.0.0.5,10.0.0.6",
                        "gluster_volname": "tf",
                        "gluster_options": "log-level=WARNING",
                        "single_pv_per_pool": "false",
                    },
                },
            }
        },
    ),
    "nfs": (
        NEW,
        {
            "class": {"allowVolumeExpansion": True},
            "classes": {
                "nfs": {
                    "kind": "nfs",
                    "isDefault": True,
                    "nfs": {
                        **NFS,
                        "subDir": "${pvc.metadata.namespace}/${pvc.metadata.name}",
                        "onDelete": "retain",
                    },
                    "mountOptions": ["nfsvers=4.1"],
                },
                "nfs-subdir": {
                    "kind": "nfs",
                    "provisioner": "cluster.local/nfs-subdir-external-provisioner",
                    "allowVolumeExpansion": False,
                    "parameters": {"archiveOnDelete": "false"},
                },
            },
        },
    ),
    "custom": (
        NEW,
        {
            "classes": {
                "fast": {
                    "provisioner": "driver.longhorn.io",
                    "parameters": {"numberOfReplicas": "2"},
                    "reclaimPolicy": "Retain",
                    "volumeBindingMode": "WaitForFirstConsumer",
                }
            }
        },
    ),
    "volumes": (
        NEW,
        {
            "commonLabels": {"team": "research"},
            "commonAnnotations": {"example.com/cost-centre": "42"},
            "volumes": {
                "nfs-data": {
                    "nfs": {"server": "nfs.example", "path": "/exports/data"},
                    "accessModes": ["ReadOnlyMany"],
                    "mountOptions": ["nfsvers=4.1", "ro"],
                    "claim": {"namespace": "training", "name": "digits-data"},
                },
                "gluster-log": {
                    "hostPath": "/mnt/gluster/training",
                    "capacity": "1Ti",
                    "storageClassName": "gluster",
                    "labels": {"team": "vision"},
                    "nodeLabels": {"example.com/gluster": "mounted"},
                },
            },
        },
    ),
    "gluster-endpoints": (
        OLD,
        {
            "volumes": {
                "tf": {
                    "glusterfs": {
                        "volume": "tf",
                        "namespace": "default",
                        "servers": ["10.0.0.5", "10.0.0.6"],
                    },
                    "mountOptions": ["log-level=WARNING"],
                },
                "other": {
                    "glusterfs": {"volume": "v", "namespace": "storage", "endpoints": "gluster"}
                },
            }
        },
    ),
}
