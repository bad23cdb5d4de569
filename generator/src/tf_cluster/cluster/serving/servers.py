"""The servers of a namespace, releases of the chart tf-serving, and the models that each serves."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.cluster import labels
from tf_cluster.cluster.claim_job import CONTAINER_SECURITY, POD_SECURITY
from tf_cluster.cluster.reading import manager
from tf_cluster.cluster.workloads import Object, pod_spec
from tf_cluster.exits import RefusedError

CHART_NAME = "tf-serving"
CLIENT = "tf-cluster.io/serving-client"
"""A pod with this label, whose value is the server's name, may always ask it."""
GRPC_PORT, REST_PORT = 8500, 8501
ON_CLAIMS = ("run", "claim")
"""The kinds of source whose versions lie on a claim, where they can be looked at."""


@dataclass(frozen=True)
class Model:
    """A model of a server. `policy` is as in the values: {latest: 1}, {specific: [3]}, {all: true}.

    `claim` and `path` say where its versions are, for the kinds that are on a claim.
    """

    name: str
    kind: str
    claim: str = ""
    path: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, int] = field(default_factory=dict)

    @property
    def loaded(self) -> tuple[int, ...]:
        """The versions that the policy names; none where it takes what is there."""
        return tuple(sorted({int(one) for one in self.policy.get("specific") or ()}))

    @property
    def where(self) -> str:
        """`claim models/digits`; for what is on no claim the kind of its source."""
        if self.kind not in ON_CLAIMS:
            return f"its {self.kind}"
        return f"claim {self.claim}{f'/{self.path}' if self.path else ''}"


@dataclass(frozen=True)
class Server:
    """A release that serves. `name` is that of its Deployment and its Service.

    `pod` is the spec of its pods, and `selector` are labels that they alone have.
    """

    namespace: str
    release: str
    name: str
    image: str = ""
    managed_by: str = ""
    models: tuple[Model, ...] = ()
    pod: Object = field(default_factory=dict)
    selector: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """The address of its Service."""
        return f"{self.name}.{self.namespace}.svc"

    @property
    def pods_host(self) -> str:
        """The address of its headless Service: all pods."""
        return f"{self.name}-pods.{self.namespace}.svc"

    def model(self, name: str) -> Model | None:
        """The model of a name."""
        return next((one for one in self.models if one.name == name), None)

    @property
    def pod_security(self) -> Object:
        """The security context of its pods, else the chart's."""
        return self.pod.get("securityContext") or POD_SECURITY

    @property
    def security(self) -> Object:
        """The security context of its first container, else the chart's."""
        return _first(self.pod).get("securityContext") or CONTAINER_SECURITY


def servers(namespace: str, found: Iterable[tuple[str, Object]]) -> list[Server]:
    """The servers among the Deployments of a namespace, by release. Raises RefusedError."""
    made = []
    for kind, one in found:
        metadata = one.get("metadata") or {}
        marks, notes = metadata.get("labels") or {}, metadata.get("annotations") or {}
        if (
            kind != "deployment"
            or marks.get(labels.COMPONENT) != labels.SERVING
            or labels.MODELS not in notes
        ):
            continue
        spec = pod_spec(kind, one)
        made.append(
            Server(
                namespace=namespace,
                release=str(marks.get(labels.INSTANCE, "")),
                name=str(metadata.get("name")),
                image=str(_first(spec).get("image") or ""),
                managed_by=manager(notes),
                models=models_of(str(metadata.get("name")), notes[labels.MODELS]),
                pod=spec,
                selector=((one.get("spec") or {}).get("selector") or {}).get("matchLabels") or {},
            )
        )
    return sorted(made, key=lambda server: (server.release, server.name))


def _first(spec: Object) -> Object:
    """The first container of a pod."""
    found: Object = next(iter(spec.get("containers") or ()), {})
    return found


def models_of(name: str, text: str) -> tuple[Model, ...]:
    """The models of a Deployment, by the text of its annotation. Raises RefusedError."""
    try:
        return tuple(_model(key, one) for key, one in sorted(json.loads(text).items()))
    except (AttributeError, KeyError, TypeError, ValueError):
        raise RefusedError(
            f"deployment/{name} has an annotation {labels.MODELS} that this tool can't read: "
            "upgrade its release with the chart of this tool"
        ) from None


def _model(name: str, one: Mapping[str, Any]) -> Model:
    source = one["source"]
    return Model(
        name=name,
        kind=str(source["kind"]),
        claim=str(source.get("claim") or ""),
        path=str(source.get("path") or "").strip("/"),
        policy=dict(one.get("policy") or {}),
        labels={str(label): int(version) for label, version in (one.get("labels") or {}).items()},
    )


def meant(known: Sequence[Server], name: str, release: str | None) -> tuple[Server, Model]:
    """The server and the model that a name means: the model's, or that of a release with one model.

    Raises RefusedError, with the names there are.
    """
    if release is not None:
        of_it = [one for one in known if one.release == release]
        if not of_it:
            raise RefusedError(f"no server of release {release!r} here: {_there(known)}")
        known = of_it
    found = [(one, model) for one in known if (model := one.model(name))]
    if len(found) > 1:
        several = ", ".join(one.release for one, _ in found)
        raise RefusedError(f"{name} is served by several releases, {several}: choose by --release")
    if found:
        return found[0]
    of_name = [one for one in known if one.release == name]
    if len(of_name) == 1 and len(of_name[0].models) == 1:
        return of_name[0], of_name[0].models[0]
    if of_name:
        models = ", ".join(model.name for one in of_name for model in one.models)
        raise RefusedError(f"release {name} serves {models}: name the model")
    raise RefusedError(f"nothing serves a model {name!r} here: {_there(known)}")


def _there(known: Sequence[Server]) -> str:
    told = [
        f"{one.release} serves {', '.join(model.name for model in one.models)}" for one in known
    ]
    return "; ".join(told) or "there is no server at all: -n NS looks elsewhere"
