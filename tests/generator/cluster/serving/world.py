"""A namespace with a training and servers, as far as the verbs of serving look: no Kubernetes.

It answers as an API server would, ends each Job at once with what the trainer's commands would
print, and its `helm` keeps the values that it is given. Real ones are in tests/cluster/serving.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tf_cluster.cluster.serving.values import place_in_values

from tests.generator.cluster.serving.documents import Object, checked, deployment, export, pod

HELM = """\
#!{python}
import json, pathlib, sys, urllib.request
words = sys.argv[1:]
files = [word.partition("=")[2] for word in words if word.startswith("--values=")]
values = [json.loads(pathlib.Path(file).read_text()) for file in files]
body = json.dumps([words, values]).encode()
with urllib.request.urlopen("{url}/helm", body) as answer:
    code, out, err = json.loads(answer.read())
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(code)
"""
RELEASE = "digits-serving"
ABSENT = {"kind": "Status", "code": 404, "message": "it is not there"}
ATTEMPT = "0a1b2c3d"


def training(name: str = "digits", run: str = "1") -> Object:
    """A training's client Job: where its runs are, and its image."""
    marks = {
        "app.kubernetes.io/component": "chief",
        "app.kubernetes.io/instance": name,
        "app.kubernetes.io/name": "tf-cluster",
        "tf-cluster.io/attempt": ATTEMPT,
        "tf-cluster.io/run": run,
    }
    spec = {
        "subdomain": f"{name}-{ATTEMPT}",
        "containers": [
            {
                "name": "chief",
                "image": "trainer:1",
                "volumeMounts": [{"name": "v", "mountPath": "/log"}],
            }
        ],
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": f"{name}-log"}}],
    }
    metadata = {"name": f"{name}-chief-{ATTEMPT}", "namespace": "vision", "labels": marks}
    metadata["creationTimestamp"] = "2026-11-01T00:00:00Z"
    return {"metadata": metadata, "spec": {"template": {"metadata": metadata, "spec": spec}}}


@dataclass
class World:
    """What there is, and what was asked. `answers` is what ask-serving says, by version."""

    url: str = ""
    trainings: list[Object] = field(default_factory=lambda: [training()])
    exports: dict[str, list[Object]] = field(default_factory=dict)
    modes: list[str] = field(default_factory=lambda: ["ReadWriteOnce"])
    """Of every claim."""
    releases: dict[str, Object] = field(default_factory=dict)
    charts: dict[str, str] = field(default_factory=dict)
    answers: dict[int, Object] = field(default_factory=dict)
    pods: list[Object] = field(default_factory=lambda: [pod("digits-serving-1")])
    notes: Object = field(default_factory=dict)
    stuck: str = ""
    helm_words: list[list[str]] = field(default_factory=list)
    history: list[tuple[str, Object]] = field(default_factory=list)
    asked: list[list[str]] = field(default_factory=list)
    jobs: dict[str, Object] = field(default_factory=dict)
    lease: Object = field(default_factory=dict)
    making: threading.Lock = field(default_factory=threading.Lock)
    on_ask: Callable[[list[str]], None] = lambda _words: None
    helm_fails: str = ""
    fails_late: bool = False
    """Once, and when it has recorded what it was given."""
    is_old: bool = False

    def deployments(self) -> list[Object]:
        """The servers that helm has made."""
        made = []
        for name, values in self.releases.items():
            models = {}
            for model, one in values.get("models", {}).items():
                kind = next(iter(one["source"]))
                claim, path = place_in_values(one["source"])
                source = {"kind": kind, "claim": claim, "path": path}
                policy = one.get("policy") or {"latest": 1}
                models[model] = {
                    "source": source,
                    "policy": policy,
                    "labels": one.get("labels") or {},
                }
            if not models:
                continue
            found = deployment(name, **models)
            found["metadata"]["annotations"] |= self.notes
            image = values.get("image", {})
            if image.get("tag"):
                server = found["spec"]["template"]["spec"]["containers"][0]
                server["image"] = f"tensorflow/serving:{image['tag']}"
            found["status"] = {"updatedReplicas": 1, "readyReplicas": 1, "replicas": 1}
            found["status"]["observedGeneration"] = found["metadata"]["generation"] = 1
            made.append(found)
        return made

    def helm(self, words: list[str], files: list[Object]) -> tuple[int, str, str]:
        """What helm does: exit code, stdout, stderr."""
        self.helm_words.append(words)
        if words[0] == "version":
            return 0, "v4.2.3\n", ""
        name = words[2] if words[0] == "get" else words[1]
        if words[0] == "get" and name not in self.releases:
            return 1, "", "Error: release: not found\n"
        if words[:2] == ["get", "metadata"]:
            chart = self.charts.get(name, "tf-serving")
            return 0, json.dumps({"name": name, "chart": chart}), ""
        if words[:2] == ["get", "values"]:
            return 0, json.dumps(self.releases[name]), ""
        assert words[0] == "upgrade", words
        assert {"--install", "--reset-values"} <= set(words)
        if self.helm_fails and not self.fails_late:
            return 1, "", f"Error: {self.helm_fails}\n"
        (values, *more) = files
        for one in more:
            values = {**values, **one}
        self.releases[name] = values
        described = next(word for word in words if word.startswith("--description="))
        self.history.append((described.partition("=")[2], json.loads(json.dumps(values))))
        if self.helm_fails:
            said, self.helm_fails = self.helm_fails, ""
            return 1, "", f"Error: {said}\n"
        return 0, "", ""

    def printed(self, words: list[str]) -> Object | str:
        """What a command of the trainer prints: a document, or words."""
        self.asked.append(words)
        self.on_ask(words)
        if self.is_old and "--label" in words:
            return "tf-trainer ask-serving: error: unrecognized arguments: --label stable"
        option = dict(pairwise(words))
        if words[0] == "check-exports":
            found = self.exports.get(words[1].removeprefix("/log/"))
            if found is None:
                return {"error": f"{words[1]} is not there: the run has no export yet"}
            number = option.get("--version")
            seen = [one for one in found if number in (None, str(one["number"]))]
            if "--until-good" in words:
                # As tests/trainer/serving/test_check.py has it of the trainer.
                order = [*seen, *(one for one in found if one not in seen)] if seen else []
                bad = list(takewhile(lambda one: one["problem"], order))
                seen = order[: len(bad) + 1]
            unseen = [one["number"] for one in found if one not in seen]
            return {**checked(*seen), "unseen": unseen}
        if words[0] == "publish-export":
            source = self.exports[words[1].removeprefix("/log/")]
            target = self.exports.setdefault(words[2].removeprefix("/models/"), [])
            number = max((one["number"] for one in target), default=0) + 1
            target.insert(0, export(number))
            from_number = int(option.get("--version", source[0]["number"]))
            return {"version": 1, "number": number, "bytes": 5, "from": from_number}
        version = int(option["--version"])
        good = {"state": "AVAILABLE", "seconds": 0.1, "difference": 1e-7, "ok": True}
        outputs = {"scores": {"dtype": "float32", "shape": [1, 2], "values": [[0.25, 0.75]]}}
        said = {"version": 1, **good, "problem": None, "answer": {"outputs": outputs}}
        return {**said, **self.answers.get(version, {})}

    # The API server.

    def get(self, path: str, asked: dict[str, list[str]]) -> tuple[int, Any]:
        """What it answers to a GET: a document, or a text."""
        *_, kind = path.split("/")
        items: dict[str, Any] = {
            "jobs": lambda: self.trainings,
            "deployments": self.deployments,
            "pods": lambda: self.listed_pods(asked),
            "secrets": self.secrets,
        }
        if kind in items:
            return 200, {"kind": "List", "metadata": {}, "items": items[kind]()}
        if kind == "log":
            job = self.jobs[path.split("/")[-2].removesuffix("-pod")]
            container = asked.get("container", [*job["said"]][-1:])[0]
            said = job["said"][container]
            return 200, said if isinstance(said, str) else json.dumps(said)
        if "/deployments/" in path:
            return 200, next(one for one in self.deployments() if one["metadata"]["name"] == kind)
        if "/persistentvolumeclaims/" in path:
            claim = {"metadata": {"name": kind, "namespace": "vision"}, "status": {}}
            claim["spec"] = {"accessModes": self.modes}
            return (404, ABSENT) if kind == "nowhere" else (200, claim)
        if "/services/" in path:
            ports = [{"name": "grpc", "port": 8500}, {"name": "http", "port": 8501}]
            return 200, {"spec": {"type": "ClusterIP", "ports": ports}}
        if path == "/api/v1/namespaces/vision":
            return 200, {"metadata": {"name": "vision"}}
        if "/leases/" in path:
            return (200, self.lease) if self.lease else (404, ABSENT)
        return 404, {"message": path}

    def secrets(self) -> list[Object]:
        """Helm's records, of a release that was left in the middle."""
        marks = {"owner": "helm", "name": self.stuck, "status": "pending-upgrade", "version": "3"}
        metadata = {"namespace": "vision", "labels": marks}
        metadata["creationTimestamp"] = "2026-11-01T00:00:00Z"
        return [{"metadata": metadata}] if self.stuck else []

    def listed_pods(self, asked: dict[str, list[str]]) -> list[Object]:
        """Pods of a Job, or those of the servers."""
        (selector,) = asked.get("labelSelector", [""])
        if "batch.kubernetes.io/job-name" not in selector:
            return self.pods
        name = selector.partition("=")[2]
        return [self.jobs[name]["pod"]] if name in self.jobs else []

    def post(self, path: str, document: Object) -> tuple[int, Any]:
        """What it answers to a POST."""
        if path.endswith("/leases"):
            self.lease = {**document, "metadata": {**document["metadata"], "resourceVersion": "1"}}
            return 201, self.lease
        name, spec = document["metadata"]["name"], document["spec"]["template"]["spec"]
        ended = {"exitCode": 0, "reason": "Completed"}
        said, statuses = {}, []
        # As a DELETE of a Job that is being made: it is answered afterwards.
        with self.making:
            for one in (*spec.get("initContainers", ()), *spec["containers"]):
                said[one["name"]] = self.printed(one["args"])
                statuses.append(
                    {"name": one["name"], "state": {"terminated": ended}, "ready": False}
                )
                statuses[-1] |= {"image": "i", "imageID": "i", "restartCount": 0}
            made = {
                "metadata": {"name": f"{name}-pod", "namespace": "vision", "uid": "u"},
                "spec": {"containers": spec["containers"]},
                "status": {"phase": "Succeeded", "containerStatuses": statuses},
            }
            self.jobs[name] = {"job": document, "pod": made, "said": said}
        return 201, document

    def delete(self, path: str) -> tuple[int, Any]:
        """What it answers to a DELETE: the Job is gone."""
        with self.making:
            self.jobs.pop(path.split("/")[-1], None)
        return 200, {"kind": "Status"}

    def put(self, document: Object) -> tuple[int, Any]:
        """What it answers to a PUT: of the Lease."""
        self.lease = document
        return 200, document


@contextmanager
def world(folder: Path) -> Iterator[tuple[World, dict[str, str]]]:
    """A world, and the environment of a command that sees it."""
    one = World()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, code: int, body: Any) -> None:
            raw = body.encode() if isinstance(body, str) else json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def _body(self) -> Any:
            return json.loads(
                self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"
            )

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            self._answer(*one.get(parts.path, parse_qs(parts.query)))

        def do_POST(self) -> None:
            body = self._body()
            if self.path == "/helm":
                self._answer(200, one.helm(*body))
            else:
                self._answer(*one.post(self.path, body))

        def do_PUT(self) -> None:
            self._answer(*one.put(self._body()))

        def do_PATCH(self) -> None:
            self._answer(200, self._body())

        def do_DELETE(self) -> None:
            self._body()
            self._answer(*one.delete(urlsplit(self.path).path))

        def log_message(self, *_: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.url = f"http://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever)
    thread.start()
    helm = folder / "bin" / "helm"
    helm.parent.mkdir()
    helm.write_text(HELM.format(python=sys.executable, url=one.url))
    helm.chmod(0o755)
    config = {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": one.url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [
            {"name": "here", "context": {"cluster": "c", "user": "u", "namespace": "vision"}}
        ],
    }
    (folder / "config").write_text(json.dumps(config))
    try:
        path = f"{helm.parent}:{os.environ['PATH']}"
        yield one, {"KUBECONFIG": str(folder / "config"), "PATH": path}
    finally:
        http.shutdown()
        thread.join()
        http.server_close()
