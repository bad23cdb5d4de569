"""TFJobs drawn at random: what people write, what the API allows, and what is wrong in both."""

from __future__ import annotations

from random import Random
from typing import Any

ROLES = (
    ("Worker",),
    ("PS", "Worker"),
    ("Chief", "Worker"),
    ("Chief", "PS", "Worker"),
    ("Master", "PS", "Worker"),
    ("Chief", "PS"),
    ("Chief",),
    ("Worker", "Evaluator"),
    ("Chief", "Worker", "PS", "Evaluator"),
)
PLACES = (
    "/data",
    "/log",
    "/tmp",
    "/dev/shm",
    "/train",
    "/mnt/sets",
    "/etc/conf",
    "/models",
    "/var",
)


class Drawing:
    """One TFJob; every text in it that can be anything is like no other."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._count = 0

    def job(self) -> dict[str, Any]:
        """The manifest."""
        shared = self._command()
        kinds = self._random.choice(ROLES)
        claims = [self._word() for _ in range(2)]
        spec: dict[str, Any] = {
            "tfReplicaSpecs": {kind: self._replicas(kind, shared, claims) for kind in kinds}
        }
        if self._perhaps(0.6):
            spec["runPolicy"] = self._some(
                cleanPodPolicy=self._one("None", "Running", "All"),
                ttlSecondsAfterFinished=self._number(),
                activeDeadlineSeconds=self._number(),
                backoffLimit=self._number(),
                suspend=self._one(True, False),
                schedulingPolicy={
                    "minAvailable": self._number(),
                    "queue": self._word(),
                    "priorityClass": self._word(),
                },
            )
        spec |= self._some(
            successPolicy=self._one("", "AllWorkers"),
            enableDynamicWorker=self._one(True, False),
        )
        metadata = {"name": self._word()} | self._some(
            labels={"team": self._word()},
            annotations={"owner": self._word()},
            namespace=self._word(),
        )
        if self._perhaps(0.3):
            metadata |= {"uid": self._word(), "generation": 3, "finalizers": [self._word()]}
        job = {"apiVersion": "kubeflow.org/v1", "kind": "TFJob", "metadata": metadata, "spec": spec}
        if self._perhaps(0.2):
            job["status"] = {"conditions": [{"type": "Running", "reason": self._word()}]}
        return job

    def _replicas(self, kind: str, shared: dict[str, Any], claims: list[str]) -> dict[str, Any]:
        one: dict[str, Any] = {
            "replicas": 1 if kind in ("Chief", "Master") else self._random.randint(1, 5),
            "template": {"spec": self._pod(shared, claims)},
        }
        one |= self._some(restartPolicy=self._one("Never", "Always", "OnFailure", "ExitCode"))
        if self._perhaps(0.3):
            one["template"]["metadata"] = self._some(
                labels={"app": self._word()}, annotations={"sidecar.istio.io/inject": "false"}
            )
        return one

    def _pod(self, shared: dict[str, Any], claims: list[str]) -> dict[str, Any]:
        drawn = [self._volume(claims) for _ in range(self._random.randint(0, 3))]
        volumes = list({volume["name"]: volume for volume in drawn}.values())
        command = shared if self._perhaps(0.7) else self._command()
        container = {"name": "tensorflow", "image": f"registry.example.com/{self._word()}:1"}
        container |= command
        container |= self._some(
            env=self._env(),
            resources=self._resources(),
            volumeMounts=self._mounts(volumes),
            ports=[{"containerPort": self._one(2222, 9000), "name": self._word()[:12]}],
            imagePullPolicy=self._one("Always", "IfNotPresent"),
        )
        container |= self._few(
            envFrom=[{"configMapRef": {"name": self._word()}}],
            livenessProbe={"exec": {"command": [self._word()]}},
            lifecycle={"preStop": {"exec": {"command": [self._word()]}}},
            securityContext={"runAsUser": self._one(0, 1001), "privileged": self._one(True, False)},
            tty=True,
            terminationMessagePath=f"/{self._word()}",
        )
        pod: dict[str, Any] = {"containers": [container]}
        if volumes:
            pod["volumes"] = volumes
        if self._perhaps(0.2):
            pod["containers"].append(self._container(volumes))
        if self._perhaps(0.2):
            pod["initContainers"] = [self._container(volumes)]
        return pod | self._few(
            nodeSelector={"pool": self._word()},
            tolerations=[{"key": self._word(), "operator": self._one("Exists", "Odd")}],
            affinity={
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {
                                "matchExpressions": [
                                    {"key": self._word(), "operator": "In", "values": ["a"]}
                                ]
                            }
                        ]
                    }
                }
            },
            priorityClassName=self._word(),
            schedulerName=self._one("volcano", "default-scheduler"),
            serviceAccountName=self._word(),
            imagePullSecrets=[{"name": self._word()}],
            hostNetwork=self._one(True, False),
            dnsPolicy=self._one("ClusterFirst", "Default"),
            securityContext={"fsGroup": self._number()},
            terminationGracePeriodSeconds=self._number(),
            hostAliases=[{"ip": "10.0.0.1", "hostnames": [self._word()]}],
            runtimeClassName=self._word(),
            nodeName=self._word(),
            restartPolicy=self._one("Never", "OnFailure"),
        )

    def _command(self) -> dict[str, Any]:
        script = f"/opt/{self._word()}.py"
        args = [f"--{self._word()}={self._word()}", f"--lr={self._word()}$(HOME)"]
        chosen: dict[str, Any] = self._one(
            {"command": ["python", script, *args]},
            {"command": ["python3", "-u", script], "args": args},
            {"args": ["python", f"{self._word()}.py"], "workingDir": f"/opt/{self._word()}"},
            {"command": ["sh", "-c", f"python {script} --x={self._word()}"]},
            {"command": ["bash", "-c", f"pip install {self._word()} && python {script}"]},
            {"command": ["python", "-m", f"{self._word().replace('-', '_')}.task", *args]},
            {"command": [f"/bin/{self._word()}"]},
            {"args": args},
            {},
        )
        return chosen

    def _env(self) -> list[dict[str, Any]]:
        env: list[dict[str, Any]] = [
            {"name": f"N_{self._word()}", "value": self._word()}
            for _ in range(self._random.randint(1, 3))
        ]
        if self._perhaps(0.3):
            key = {"name": self._word(), "key": self._word()}
            env.append({"name": f"S_{self._word()}", "valueFrom": {"secretKeyRef": key}})
        if self._perhaps(0.2):
            env.append({"name": "TF_CONFIG", "value": self._word()})
        if self._perhaps(0.1):
            env.append({"name": env[0]["name"], "value": self._word()})
        return env

    def _resources(self) -> dict[str, Any]:
        limits = self._some(
            cpu=f"{self._number()}m", memory=f"{self._random.randint(1, 64)}Gi"
        ) | self._few(**{"nvidia.com/gpu": self._random.randint(1, 4)})
        requests = self._some(cpu=f"{self._random.randint(1, 99)}m")
        return {"limits": limits, "requests": requests}

    def _volume(self, claims: list[str]) -> dict[str, Any]:
        kind = self._one(
            {"persistentVolumeClaim": {"claimName": self._random.choice(claims)}},
            {"emptyDir": {}},
            {"emptyDir": {"medium": "Memory", "sizeLimit": f"{self._number()}Mi"}},
            {"configMap": {"name": self._word()}},
            {"secret": {"secretName": self._word()}},
            {"hostPath": {"path": f"/{self._word()}"}},
            {"nfs": {"server": self._word(), "path": f"/{self._word()}"}},
            {"glusterfs": {"endpoints": self._word(), "path": self._word()}},
        )
        return {"name": self._one("data", "tmp", self._word(), self._word()), **kind}

    def _mounts(self, volumes: list[dict[str, Any]]) -> list[dict[str, Any]]:
        places = self._random.sample(PLACES, len(volumes))
        return [
            {"name": volume["name"], "mountPath": place}
            | self._few(subPath=self._word(), readOnly=True, mountPropagation="HostToContainer")
            for volume, place in zip(volumes, places, strict=True)
        ]

    def _container(self, volumes: list[dict[str, Any]]) -> dict[str, Any]:
        one = {"name": self._word(), "image": f"registry.example.com/{self._word()}"}
        one |= self._some(
            command=[self._word()],
            env=[{"name": f"O_{self._word()}", "value": self._word()}],
            volumeMounts=self._mounts(volumes),
            ports=[{"containerPort": 8080}],
            lifecycle={"preStop": {"exec": {"command": [self._word()]}}},
        )
        return one

    def _word(self) -> str:
        self._count += 1
        return f"w{self._count}-{self._random.randrange(1000, 9999)}"

    def _number(self) -> int:
        return self._random.randrange(2000, 9000)

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _perhaps(self, chance: float) -> bool:
        return self._random.random() < chance

    def _some(self, **fields: Any) -> dict[str, Any]:
        return {key: value for key, value in fields.items() if self._perhaps(0.5)}

    def _few(self, **fields: Any) -> dict[str, Any]:
        return {key: value for key, value in fields.items() if self._perhaps(0.15)}
