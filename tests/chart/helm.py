"""The real helm, one process per distinct set of values."""

from __future__ import annotations

import functools
import json
import subprocess
import tempfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tf_cluster_trainer.config import Cluster, read_cluster

from tests.cluster.machine_tools import tool_path

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "charts" / "tf-cluster"

# libyaml's where it is there: ten times faster.
LOADER: Any = type("Loader", (getattr(yaml, "CSafeLoader", yaml.SafeLoader),), {})
# A plain `=`: a text for everybody but YAML 1.1's drafts and PyYAML.
LOADER.add_constructor("tag:yaml.org,2002:value", yaml.SafeLoader.construct_yaml_str)

# What the chart is promised for: README.
HELMS = ("helm", "helm3")

Object = dict[str, Any]
Values = Mapping[str, Any]

# APIs that not every cluster has; the templates are rendered for one that has them.
APIS = (
    "gateway.networking.k8s.io/v1/HTTPRoute",
    "monitoring.coreos.com/v1/PodMonitor",
    "monitoring.coreos.com/v1/PrometheusRule",
    "scheduling.volcano.sh/v1beta1/PodGroup",
    "scheduling.x-k8s.io/v1alpha1/PodGroup",
)

# The least that the chart accepts.
LEAST: Values = {
    "image": {"repository": "registry.example/tf-cluster-trainer"},
    "program": {"module": "example.digits:Digits"},
}


class RefusedError(Exception):
    """Helm did not render; the message is its own, without the words around it."""


@dataclass(frozen=True)
class Rendered:
    """What `helm template` printed."""

    text: str

    @functools.cached_property
    def objects(self) -> list[Object]:
        """Every object, in Helm's order. Shared by all tests of these values: don't change it."""
        return [obj for obj in yaml.load_all(self.text, LOADER) if obj]

    def one(self, kind: str, component: str) -> Object:
        """The only object of a kind with this component label."""
        found = self.all(kind, component)
        assert len(found) == 1, [obj["metadata"]["name"] for obj in found]
        return found[0]

    def all(self, kind: str, component: str = "") -> list[Object]:
        """Objects of a kind, of one component or of all."""
        return [
            obj
            for obj in self.objects
            if obj["kind"] == kind
            and component in ("", obj["metadata"]["labels"]["app.kubernetes.io/component"])
        ]

    @property
    def names(self) -> set[tuple[str, str]]:
        """(kind, name) of every object."""
        return {(obj["kind"], obj["metadata"]["name"]) for obj in self.objects}

    @property
    def attempt(self) -> str:
        """The attempt's hash, as the ConfigMap has it."""
        return str(self.one("ConfigMap", "config")["metadata"]["labels"]["tf-cluster.io/attempt"])

    def for_a_dry_run(self, absent: Collection[str]) -> str:
        """All objects as one List, without the kinds that the cluster has not.

        What a bare pod names has to be there already, even in a dry run, so that is left out.
        """
        named = ("priorityClassName", "runtimeClassName")
        items = [
            {**obj, "spec": {key: value for key, value in obj["spec"].items() if key not in named}}
            if obj["kind"] == "Pod"
            else obj
            for obj in self.objects
            if obj["kind"] not in absent
        ]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})

    @property
    def pods(self) -> dict[str, Object]:
        """Pod templates by the name of the object they belong to."""
        return {
            obj["metadata"]["name"]: obj["spec"]["template"]
            for obj in self.objects
            if obj["kind"] in ("Job", "Deployment")
        }

    @functools.cached_property
    def cluster(self) -> Cluster:
        """cluster.json as the trainer reads it: every task's addresses."""
        with tempfile.TemporaryDirectory() as folder:
            text = self.one("ConfigMap", "config")["data"]["cluster.json"]
            Path(folder, "cluster.json").write_text(text)
            return read_cluster(Path(folder))

    def config(self, name: str) -> Any:
        """One file of the ConfigMap, parsed."""
        return json.loads(self.one("ConfigMap", "config")["data"][name])


def merged(values: Values, changes: Values) -> dict[str, Any]:
    """Values with changes laid over them, as Helm does with two values files."""
    result = dict(values)
    for key, change in changes.items():
        old = result.get(key)
        both_maps = isinstance(old, Mapping) and isinstance(change, Mapping)
        result[key] = merged(old, change) if both_maps else change  # type: ignore[arg-type]
    return result


def render(
    changes: Values | None = None,
    *,
    release: str = "digits",
    namespace: str = "training",
    chart: Path = CHART,
    helm: str = "helm",
) -> Rendered:
    """Render the least values with changes. Raises RefusedError."""
    values = merged(_least(chart), changes or {})
    return template(json.dumps(values), release, namespace, str(chart), helm)


@functools.cache
def template(
    values: str,
    release: str,
    namespace: str,
    chart: str,
    helm: str = "helm",
    kubernetes: str = "",
) -> Rendered:
    """`helm template` with values given as JSON text. Raises RefusedError."""
    version = (f"--kube-version={kubernetes}",) if kubernetes else ()
    apis = (f"--api-versions={api}" for api in APIS)
    words = ("template", release, chart, f"--namespace={namespace}", *version, *apis)
    return Rendered(_helm(*words, values=values, helm=helm))


def notes(changes: Values | None = None, *, chart: Path = CHART) -> str:
    """What `helm install` would tell, in the namespace `training`."""
    text = _helm(
        "install",
        "digits",
        str(chart),
        "--namespace=training",
        "--dry-run=client",
        values=json.dumps(merged(_least(chart), changes or {})),
    )
    return text.partition("\nNOTES:\n")[2]


def refusal(
    changes: Values | None = None,
    *,
    release: str = "digits",
    chart: Path = CHART,
    helm: str = "helm",
) -> str:
    """Helm's message for values that it must refuse."""
    try:
        render(changes, release=release, chart=chart, helm=helm)
    except RefusedError as error:
        return str(error)
    raise AssertionError(f"rendered: {str(changes)[:500]}")


def _least(chart: Path) -> Values:
    return {"tf-cluster": LEAST} if chart == ROOT else LEAST


def command(*arguments: str, helm: str = "helm") -> subprocess.CompletedProcess[str]:
    """Any other helm command."""
    return subprocess.run((_binary(helm), *arguments), capture_output=True, text=True, check=False)


@functools.cache
def _binary(helm: str) -> str:
    return tool_path(helm)


def _helm(*arguments: str, values: str, helm: str = "helm") -> str:
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        file.write(values)
        file.flush()
        done = command(*arguments, f"--values={file.name}", helm=helm)
    if done.returncode != 0:
        raise RefusedError(_message(done.stderr))
    return done.stdout


def _message(stderr: str) -> str:
    """Helm's message: without the place in the template and the hint about --debug."""
    text = stderr.partition("Use --debug flag")[0].strip()
    _, marker, message = text.partition("execution error at")
    return message.partition("):")[2].strip() if marker else text.removeprefix("Error: ")
