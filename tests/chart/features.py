"""The values of each golden file: one feature at a time, and everything together."""

from __future__ import annotations

from typing import Any

# What every role that serves a page can have.
PAGE: dict[str, Any] = {
    "service": {"type": "ClusterIP", "port": 80, "targetPort": 4180},
    "allowFrom": [{"podSelector": {"matchLabels": {"app": "ingress"}}}],
    "ingress": {
        "enabled": True,
        "className": "public",
        "host": "digits.example.com",
        "tls": [{"hosts": ["digits.example.com"], "secretName": "digits-tls"}],
        "annotations": {"example.com/auth": "basic"},
    },
    "terminationGracePeriodSeconds": 20,
    "resources": {"requests": {"cpu": "50m"}, "limits": {"memory": "1Gi"}},
    "extraEnv": [{"name": "TF_CPP_MIN_LOG_LEVEL", "value": "3"}],
    "nodeSelector": {"disk": "ssd"},
    "tolerations": [{"operator": "Exists"}],
    "podLabels": {"team": "research"},
    "podAnnotations": {"example.com/scrape": "false"},
    "priorityClassName": "viewing",
}

# With all that it can have.
HTTP_ROUTE: dict[str, Any] = {
    "enabled": True,
    "parentRefs": [{"name": "public", "namespace": "gateways", "sectionName": "https"}],
    "hostnames": ["digits.example.com"],
    "filters": [
        {
            "type": "ExtensionRef",
            "extensionRef": {"group": "example.com", "kind": "Login", "name": "team"},
        }
    ],
    "annotations": {"example.com/owner": "research"},
}

FEATURES: dict[str, dict[str, Any]] = {
    "least": {},
    "medium": {
        "worker": {"replicas": 4, "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "8Gi"}}},
        "storage": {
            "data": {"accessModes": ["ReadWriteMany"], "storageClassName": "nfs"},
            "log": {"accessModes": ["ReadWriteMany"], "storageClassName": "nfs", "size": "50Gi"},
        },
    },
    "large": {"worker": {"replicas": 3}, "ps": {"replicas": 2}},
    "between-graph": {"replication": "between-graph", "worker": {"replicas": 3}},
    "between-graph-sync": {
        "replication": "between-graph",
        "update": "sync",
        "ps": {"replicas": 2},
        "chief": {"terminationGracePeriodSeconds": 20},
    },
    "first-worker-ends": {
        "replication": "between-graph",
        "run": {"deadlineSeconds": 3600},
        "worker": {"successPolicy": "first"},
    },
    "all-reduce": {"strategy": "all-reduce", "replication": "between-graph", "update": "sync"},
    "evaluator": {
        "evaluator": {"enabled": True, "exportBest": {"metric": "accuracy", "mode": "max"}}
    },
    "evaluator-all-reduce": {
        "strategy": "all-reduce",
        "replication": "between-graph",
        "update": "sync",
        "evaluator": {
            "enabled": True,
            "resources": {"limits": {"nvidia.com/gpu": 1, "memory": "8Gi"}},
        },
    },
    "interactive": {
        "program": {"module": ""},
        "interactive": {"enabled": True, "idleSeconds": 600},
        "notebook": {"enabled": True, "service": {"type": "NodePort", "nodePort": 30888}},
    },
    "notebook-http-route": {
        "notebook": {
            "enabled": True,
            "pathPrefix": "/lab",
            "httpRoute": HTTP_ROUTE,
        }
    },
    "script": {
        "program": {
            "module": "",
            "script": "/data/code/train.py",
            "args": ["--ps_hosts=$(PS_HOSTS)", "--steps=1000"],
        },
    },
    "script-on-ps": {
        "replication": "between-graph",
        "program": {"module": "", "script": "train.py", "ps": "script", "path": "/data/code"},
    },
    "source-files": {
        "program": {
            "module": "train:Mine",
            "path": "src",
            "source": {"files": {"src/train.py": "if 1 < 2 & 1:\n    x = 'ä'\n"}},
        },
    },
    "source-git": {
        "program": {
            "module": "",
            "script": "train.py",
            "source": {"git": "https://example.com/code.git", "commit": "0123456789" * 4},
        },
    },
    "source-private": {
        "program": {
            "source": {
                "url": "https://example.com/code.tar.gz",
                "sha256": "0123456789abcdef" * 4,
                "secretName": "code-login",
            },
        },
    },
    "pod-defaults": {
        "evaluator": {"enabled": True},
        "pod": {
            "extraEnv": [{"name": "A", "value": "all"}, {"name": "B", "value": "all"}],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"operator": "Exists"}],
            "podLabels": {"team": "research", "tier": "batch"},
            "podAnnotations": {"example.com/scrape": "true"},
            "priorityClassName": "training",
        },
        "worker": {
            "extraEnv": [{"name": "C", "value": "worker"}, {"name": "A", "value": "worker"}],
            "nodeSelector": {"gpu": "a100"},
            "podLabels": {"tier": "gpu"},
        },
        "ps": {"priorityClassName": "", "tolerations": [], "podAnnotations": {}},
    },
    "devices": {
        "worker": {
            "image": {"repository": "registry.example/gpu", "tag": "1", "pullPolicy": "Always"},
            "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}],
            "resources": {"claims": [{"name": "gpu"}]},
            "runtimeClassName": "nvidia",
            "shmSize": "8Gi",
        },
        "serviceAccount": {"name": "trainer"},
    },
    "no-cleanup": {"cleanup": {"enabled": False}},
    "keep-ps-after-failure": {"cleanup": {"delaySeconds": {"failure": None}}},
    "existing-claims": {
        "storage": {
            "colocate": False,
            "data": {"existingClaim": "shared-data", "accessModes": ["ReadOnlyMany"]},
            "log": {"existingClaim": "shared-log", "accessModes": ["ReadWriteMany"]},
        }
    },
    "team-claim": {
        "storage": {
            "data": {"existingClaim": "team", "subPath": "sets/digits"},
            "log": {"existingClaim": "team", "subPath": "runs"},
        }
    },
    "no-data-claim": {"storage": {"data": {"enabled": False}}},
    "static-volumes": {
        "storage": {
            "data": {"volumeName": "nfs-data", "storageClassName": ""},
            "log": {"volumeName": "nfs-log", "storageClassName": ""},
        }
    },
    "tensorboard": {
        "tensorboard": {"enabled": True, "service": {"type": "NodePort", "nodePort": 30606}}
    },
    "tensorboard-http-route": {
        "tensorboard": {
            "enabled": True,
            "pathPrefix": "/curves",
            "httpRoute": HTTP_ROUTE,
        }
    },
    "no-network-policy": {"security": {"networkPolicy": {"enabled": False}}},
    "monitored": {
        "security": {
            "networkPolicy": {
                "statusFrom": [
                    {
                        "namespaceSelector": {
                            "matchLabels": {"kubernetes.io/metadata.name": "monitoring"}
                        },
                        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}},
                    }
                ]
            }
        },
    },
    "scrape-annotations": {
        "security": {"networkPolicy": {"enabled": False}},
        "monitoring": {"scrapeAnnotations": True},
        "chief": {"podAnnotations": {"prometheus.io/path": "/elsewhere"}},
    },
    "dashboard-and-alerts": {
        "security": {
            "networkPolicy": {
                "statusFrom": [
                    {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}}
                ]
            }
        },
        "monitoring": {
            "podMonitor": {"enabled": True, "labels": {"release": "prometheus"}, "interval": "30s"},
            "rules": {
                "enabled": True,
                "labels": {"release": "prometheus"},
                "alertLabels": {"severity": "page", "team": "research"},
                "stalledSeconds": 600,
                "checkpointSeconds": 1200,
                "losses": 5,
            },
            "dashboard": {"enabled": True, "labels": {"grafana_dashboard": "yes"}},
        },
    },
    "json-logs": {"logging": {"format": "json"}, "evaluator": {"enabled": True}},
    "globals": {
        "global": {
            "imageRegistry": "mirror.example:5000/ai",
            "imagePullSecrets": ["shared", {"name": "other"}],
            "storageClass": "replicated",
        },
        "image": {"repository": "team/trainer", "pullSecrets": ["own", "shared"]},
        "storage": {"data": {"storageClassName": ""}},
    },
    "gang": {
        "worker": {"replicas": 3},
        "evaluator": {"enabled": True},
        "chief": {"objectLabels": {"kueue.x-k8s.io/queue-name": "leaders"}},
        "scheduling": {
            "placement": "binpack",
            "queue": "research",
            "gang": {
                "provider": "coscheduling",
                "minMember": 4,
                "schedulerName": "second",
                "timeoutSeconds": 120,
            },
        },
    },
    "spread": {
        "storage": {volume: {"accessModes": ["ReadWriteMany"]} for volume in ("data", "log")},
        "monitoring": {"scrapeAnnotations": True},
        "security": {"networkPolicy": {"enabled": False}},
        "ps": {
            "replicas": 2,
            "affinity": {
                "podAffinity": {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {
                            "weight": 10,
                            "podAffinityTerm": {
                                "topologyKey": "topology.kubernetes.io/zone",
                                "labelSelector": {"matchLabels": {"team": "research"}},
                            },
                        }
                    ]
                }
            },
        },
        "worker": {
            "topologySpreadConstraints": [
                {
                    "maxSkew": 2,
                    "topologyKey": "kubernetes.io/hostname",
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": {"team": "research"}},
                }
            ]
        },
        "scheduling": {
            "placement": "spread",
            "psNearWorkers": True,
            "gang": {"provider": "volcano", "queue": "team"},
        },
    },
    "everything": {
        "global": {"anything": True},
        "nameOverride": "vision",
        "commonLabels": {"team": "research"},
        "commonAnnotations": {"example.com/cost-centre": "42"},
        "clusterDomain": "cluster.example",
        "logging": {"format": "json"},
        "extraObjects": [
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": "words", "labels": {"mine": "yes"}},
                "data": {"words.txt": "a b {{ c }}"},
            }
        ],
        "serviceAccount": {"create": True, "annotations": {"eks.amazonaws.com/role-arn": "arn"}},
        "image": {
            "registry": "mirror.example:5000",
            "digest": "sha256:" + "0123456789abcdef" * 4,
            "pullPolicy": "Always",
            "pullSecrets": ["registry", {"name": "mirror"}],
        },
        "run": {"id": "winter-2", "attempt": 3, "deadlineSeconds": 604800},
        "program": {"path": "/data/code"},
        "train": {
            "steps": 1000000,
            "batchSize": 128,
            "microBatches": 4,
            "stepsPerCall": 100,
            "seed": 7,
            "precision": "mixed_bfloat16",
            "xla": True,
            "optimizer": {
                "name": "Momentum",
                "learningRate": 0.0001,
                "momentum": 0.9,
                "schedule": {
                    "name": "exponential",
                    "warmupSteps": 1000,
                    "decaySteps": 900000,
                    "endFactor": 0.01,
                },
            },
            "checkpoint": {"seconds": 600, "steps": 50000, "keep": 10},
            "reportSeconds": 5,
        },
        "flags": {"big": 12345678, "deep": {"list": [1, 0.5, "x"], "none": None}, "on": True},
        "peers": {"deadlineSeconds": 7200},
        "failure": {"restarts": 3, "finalStateSeconds": 10},
        "pod": {
            "envFrom": [
                {"configMapRef": {"name": "words", "optional": True}},
                {"prefix": "S3_", "secretRef": {"name": "bucket"}},
            ],
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": "topology.kubernetes.io/zone",
                    "whenUnsatisfiable": "DoNotSchedule",
                    "minDomains": 2,
                    "labelSelector": {"matchLabels": {"team": "research"}},
                }
            ],
            "objectLabels": {"kueue.x-k8s.io/queue-name": "research"},
            "objectAnnotations": {"argocd.argoproj.io/ignore-healthcheck": "true"},
            "schedulerName": "volcano",
            "runtimeClassName": "gvisor",
            "extraVolumes": [
                {"name": "scratch", "emptyDir": {"sizeLimit": "1Gi"}},
                {"name": "words", "configMap": {"name": "words", "defaultMode": 292}},
            ],
            "extraVolumeMounts": [
                {"name": "scratch", "mountPath": "/scratch"},
                {"name": "words", "mountPath": "/words", "readOnly": True},
            ],
            "initContainers": [
                {
                    "name": "fill",
                    "image": "registry.example/tool:1",
                    "command": ["cp", "/words/words.txt", "/scratch/"],
                    "volumeMounts": [
                        {"name": "scratch", "mountPath": "/scratch"},
                        {"name": "words", "mountPath": "/words"},
                    ],
                }
            ],
            "sidecars": [
                {
                    "name": "proxy",
                    "image": "registry.example/proxy:1",
                    "ports": [{"name": "proxy", "containerPort": 3128}],
                    "startupProbe": {"tcpSocket": {"port": 3128}, "periodSeconds": 1},
                    "resources": {"requests": {"cpu": "10m"}, "limits": {"memory": "64Mi"}},
                    "securityContext": {"readOnlyRootFilesystem": False},
                }
            ],
            "shmSize": "1Gi",
            "tmpSize": "10Gi",
        },
        **{
            role: {
                "extraEnv": [
                    {"name": "TF_CPP_MIN_LOG_LEVEL", "value": "0"},
                    {
                        "name": "TOKEN",
                        "valueFrom": {"secretKeyRef": {"name": "token", "key": "token"}},
                    },
                ],
                "nodeSelector": {"disk": "ssd"},
                "tolerations": [{"key": "training", "operator": "Exists", "effect": "NoSchedule"}],
                "affinity": {
                    "nodeAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": {
                            "nodeSelectorTerms": [
                                {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}
                            ]
                        }
                    },
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {
                                "topologyKey": "topology.kubernetes.io/zone",
                                "labelSelector": {"matchLabels": {"team": "research"}},
                            }
                        ]
                    },
                },
                "podLabels": {"team": "research"},
                "podAnnotations": {"example.com/scrape": "true"},
                "priorityClassName": "training",
                "terminationGracePeriodSeconds": 120,
            }
            for role in ("chief", "worker", "ps")
        },
        "evaluator": {
            "enabled": True,
            "exportBest": {"metric": "loss: total", "mode": "min"},
            "backoffLimit": 1,
            "terminationGracePeriodSeconds": 5,
            "extraEnv": [{"name": "TF_CPP_MIN_LOG_LEVEL", "value": "0"}],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "podLabels": {"team": "research"},
            "podAnnotations": {"example.com/scrape": "true"},
            "priorityClassName": "training",
        },
        "cleanup": {
            "image": {"tag": "cpu"},
            "sidecars": [],
            "runtimeClassName": "",
            "delaySeconds": {"success": 10, "failure": 3600},
            "workersTimeoutSeconds": 90,
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"operator": "Exists"}],
            "podLabels": {"team": "research"},
            "podAnnotations": {"example.com/scrape": "false"},
            "priorityClassName": "training",
        },
        "tensorboard": {
            "enabled": True,
            "logdir": "/log",
            "reloadSeconds": 30,
            "pathPrefix": "/curves",
            **PAGE,
        },
        "notebook": {
            "enabled": True,
            "image": {"tag": "jupyter"},
            "token": {"existingSecret": "notebook", "key": "password"},
            "pathPrefix": "/lab",
            **PAGE,
        },
        "storage": {
            "data": {
                "annotations": {"example.com/backup": "no"},
                "dataSource": {
                    "apiGroup": "snapshot.storage.k8s.io",
                    "kind": "VolumeSnapshot",
                    "name": "digits",
                },
                "subPath": "sets/digits",
            },
            "log": {
                "storageClassName": "",
                "selector": {"matchLabels": {"team": "research"}},
                "subPath": "runs",
            },
        },
    },
}
