"""The values of each golden file of charts/tf-serving."""

from __future__ import annotations

from typing import Any

RUN = {"run": {"release": "digits", "id": "1"}}
LEAST: dict[str, Any] = {"models": {"digits": {"source": RUN}}}
PROMETHEUS = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}
CLIENTS = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}}}

SOURCES: dict[str, Any] = {
    "tools": {"image": {"repository": "registry.example/tf-cluster-trainer", "tag": "0.1.0"}},
    "models": {
        "trained": {"source": RUN},
        "better": {
            "source": {
                "run": {"release": "old", "id": "b", "directory": "best", "claim": "team-log"}
            }
        },
        "published": {
            "source": {"claim": {"name": "models", "path": "teams/vision"}},
            "policy": {"specific": [3, 1000000]},
            "labels": {"stable": 3, "canary": 1000000},
        },
        "root": {"source": {"claim": {"name": "models"}}, "policy": {"all": True}},
        "packed": {
            "source": {"image": {"reference": "registry.example/models:3", "path": "/model/"}},
            "policy": {"latest": 2},
        },
        "fetched.1": {
            "source": {
                "url": {"address": "https://files.example/a.tar.gz", "sha256": "ab" * 32},
            }
        },
    },
}

EVERYTHING: dict[str, Any] = {
    "global": {"imageRegistry": "mirror.example", "imagePullSecrets": ["shared", "own"]},
    "nameOverride": "serving",
    "fullnameOverride": "vision",
    "commonLabels": {"team": "vision"},
    "commonAnnotations": {"example.com/cost-centre": "42"},
    "models": {
        "digits": {"source": {"claim": {"name": "models", "path": "digits"}}},
        "fetched": SOURCES["models"]["fetched.1"],
    },
    "image": {
        "registry": "own.example",
        "repository": "serving/server",
        "digest": "sha256:" + "cd" * 32,
        "pullPolicy": "Always",
        "pullSecrets": ["own"],
    },
    "tools": {
        "image": {
            "registry": "tools.example",
            "repository": "trainer",
            "tag": "7",
            "digest": "sha256:" + "ef" * 32,
        },
        "resources": {"limits": {"memory": "1Gi"}},
    },
    "server": {
        "intraOpThreads": 3,
        "interOpThreads": 2,
        "maxConnectionAgeSeconds": 20,
        "configPollSeconds": 30,
        "versionPollSeconds": 60,
        "startSeconds": 3600,
        "readinessModel": "fetched",
        "preStopSeconds": 25,
        "terminationGracePeriodSeconds": 90,
        "extraArgs": ["--rest_api_timeout_in_ms=1000", "--enable_profiler=true"],
    },
    "batching": {
        "enabled": True,
        "maxBatchSize": 128,
        "timeoutMicros": 1000000,
        "maxEnqueuedBatches": 4,
        "threads": 3,
        "allowedBatchSizes": [1, 8, 128],
        "padVariableLengthInputs": True,
    },
    "rollout": {"maxSurge": "50%", "maxUnavailable": 1},
    "resources": {
        "requests": {"cpu": "3500m", "memory": "8Gi"},
        "limits": {"memory": "16Gi", "nvidia.com/gpu": 1},
    },
    "autoscaling": {
        "enabled": True,
        "minReplicas": 2,
        "maxReplicas": 20,
        "targetCPUUtilizationPercentage": 50,
        "metrics": [
            {
                "type": "Pods",
                "pods": {
                    "metric": {"name": "tensorflow_serving_requests"},
                    "target": {"type": "AverageValue", "averageValue": "100"},
                },
            }
        ],
        "behavior": {
            "scaleUp": {"stabilizationWindowSeconds": 30},
            "scaleDown": {"stabilizationWindowSeconds": 60},
        },
    },
    "podDisruptionBudget": {"maxUnavailable": None, "minAvailable": "50%"},
    "service": {
        "type": "LoadBalancer",
        "ports": {"grpc": 9000, "http": 9001},
        "nodePorts": {"grpc": 30900, "http": 30901},
        "annotations": {"example.com/scheme": "internal"},
        "loadBalancerClass": "example.com/nlb",
        "loadBalancerSourceRanges": ["10.0.0.0/8"],
        "externalTrafficPolicy": "Local",
    },
    "storage": {
        "accessModes": ["ReadOnlyMany"],
        "colocate": True,
        "besideReleases": ["other"],
    },
    "pod": {
        "extraEnv": [{"name": "HTTPS_PROXY", "value": "http://proxy.example:3128"}],
        "envFrom": [{"configMapRef": {"name": "more"}}],
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "preference": {"matchExpressions": [{"key": "a", "operator": "Exists"}]},
                    }
                ]
            }
        },
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app.kubernetes.io/component": "serving"}},
            }
        ],
        "podLabels": {"tier": "front"},
        "podAnnotations": {"example.com/note": "1"},
        "objectLabels": {"queue": "a"},
        "objectAnnotations": {"example.com/object": "2"},
        "priorityClassName": "high",
        "schedulerName": "own-scheduler",
        "runtimeClassName": "nvidia",
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
        "extraVolumes": [{"name": "tls", "secret": {"secretName": "tls"}}],
        "extraVolumeMounts": [{"name": "tls", "mountPath": "/etc/tls", "readOnly": True}],
        "tmpSize": "1Gi",
        "containerSecurityContext": {"runAsUser": 2000},
    },
    "serviceAccount": {"name": "server"},
    "security": {
        "podSecurityContext": {"fsGroup": 2000},
        "networkPolicy": {"allowFrom": [CLIENTS], "statusFrom": [PROMETHEUS]},
    },
    "monitoring": {
        "path": "/metrics",
        "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "interval": "5s"},
    },
}

FEATURES: dict[str, dict[str, Any]] = {
    "least": LEAST,
    "sources": SOURCES,
    "everything": EVERYTHING,
    "shared-and-scaled": {
        **LEAST,
        "storage": {"accessModes": ["ReadWriteMany"]},
        "autoscaling": {"enabled": True},
    },
    "load-balancer": {**LEAST, "service": {"type": "LoadBalancer"}},
    "bare": {
        **LEAST,
        "replicas": 0,
        "resources": {"requests": None, "limits": None},
        "podDisruptionBudget": {"enabled": False},
        "security": {"networkPolicy": {"enabled": False}},
        "monitoring": {"enabled": False},
    },
}
