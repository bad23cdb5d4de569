"""The values of each golden file of charts/tf-tenant."""

from __future__ import annotations

from typing import Any

EVERYTHING: dict[str, Any] = {
    "commonLabels": {"team": "vision"},
    "commonAnnotations": {"example.com/cost-centre": "42"},
    "namespace": {
        "name": "team-vision",
        "podSecurity": "baseline",
        "labels": {"kueue.x-k8s.io/managed": "true"},
        "annotations": {"example.com/owner": "ada"},
    },
    "members": {
        "users": ["ada", "grace@example.com"],
        "groups": ["vision"],
        "accounts": [{"namespace": "ci", "name": "deployer"}],
    },
    "viewers": {
        "users": ["joan"],
        "groups": ["oidc:audit"],
        "accounts": [{"namespace": "monitoring", "name": "console"}],
    },
    "rights": {
        "podGroups": True,
        "monitoring": True,
        "ingresses": True,
        "httpRoutes": True,
        "serving": True,
    },
    "clusterReader": {"enabled": True, "pods": True},
    "quota": {
        "cpu": 64,
        "memory": "1Ti",
        "limitsCpu": "128",
        "limitsMemory": "2Ti",
        "gpus": {"nvidia.com/gpu": 8, "amd.com/gpu": "", "nvidia.com/mig-1g.10gb": "14"},
        "pods": 1000000,
        "jobs": "",
        "claims": 10,
        "storage": "",
        "storageClasses": {"fast": "100Gi", "archive": "0"},
        "nodePorts": 1,
        "loadBalancers": 1,
        "more": {"count/secrets": 200, "requests.ephemeral-storage": "500Gi"},
        "barredPriorityClasses": ["system-node-critical"],
    },
    "limitRange": {
        "container": {
            "defaultRequest": {"cpu": 0.5, "ephemeral-storage": "1Gi"},
            "default": {"cpu": 1, "memory": "1Gi"},
            "max": {"memory": "256Gi"},
        },
        "claimMax": "1Ti",
    },
    "network": {
        "amongPods": False,
        "ingress": [
            {
                "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
                "ports": [{"protocol": "TCP", "port": 8080}],
            }
        ],
        "egress": [{"to": [{"ipBlock": {"cidr": "10.20.0.0/16", "except": ["10.20.1.0/24"]}}]}],
        "dns": {"to": [{"ipBlock": {"cidr": "169.254.20.10/32"}}], "ports": [53, 5353]},
        "apiServer": {"cidrs": ["10.0.0.1/32"], "ports": [6443]},
    },
    "defaultAccount": {"pullSecrets": ["registry", "mirror"]},
    "claim": {"storageClassName": "nfs"},
    "claims": {
        "datasets": {"size": "2Ti", "accessModes": ["ReadOnlyMany"], "volumeName": "datasets"},
        "shared": {"storageClassName": ""},
    },
}

FEATURES: dict[str, dict[str, Any]] = {
    "least": {},
    "members": {"members": {"users": ["ada"]}, "clusterReader": {"enabled": True}},
    "everything": EVERYTHING,
    "existing": {
        "namespace": {"create": False, "name": "capsule-vision"},
        "members": {"groups": ["vision"]},
        "defaultAccount": {"manage": False},
    },
    "rights-alone": {
        "namespace": {"create": False},
        "members": {"users": ["ada"]},
        "quota": {"enabled": False},
        "limitRange": {"enabled": False},
        "network": {"enabled": False},
        "defaultAccount": {"manage": False},
    },
}
