"""The Service of a server: where clients reach it, in the cluster and from elsewhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tf_cluster.cluster.connection import Connection
from tf_cluster.cluster.serving.asking import Host
from tf_cluster.cluster.serving.servers import GRPC_PORT, REST_PORT, Server

GRPC, REST = "grpc", "http"
"""The names of its ports."""


@dataclass(frozen=True)
class Service:
    """A Service's type, its ports and those of nodes by name, and its load balancer's address."""

    kind: str = "ClusterIP"
    ports: Mapping[str, int] = field(default_factory=dict)
    node_ports: Mapping[str, int] = field(default_factory=dict)
    address: str = ""


def service_of(connection: Connection, server: Server) -> Service:
    """The Service of a server. Raises ClusterError."""
    path = f"/api/v1/namespaces/{server.namespace}/services/{server.name}"
    what = f"get service {server.name} in namespace {server.namespace}"
    answer = connection.ask(what, lambda: connection.http.get(path).raise_for_status())
    return read_service(answer.json())


def read_service(document: Mapping[str, Any]) -> Service:
    """A Service as the API server gives it."""
    spec, status = document.get("spec") or {}, document.get("status") or {}
    ports = spec.get("ports") or ()
    given = (status.get("loadBalancer") or {}).get("ingress") or ()
    first: Mapping[str, Any] = next(iter(given), {})
    return Service(
        kind=str(spec.get("type") or "ClusterIP"),
        ports={str(one.get("name")): int(one["port"]) for one in ports},
        node_ports={
            str(one.get("name")): int(one["nodePort"]) for one in ports if "nodePort" in one
        },
        address=str(first.get("ip") or first.get("hostname") or ""),
    )


def host_of(server: Server, service: Service) -> Host:
    """Where it answers in the cluster."""
    ports = service.ports
    return Host(server.host, ports.get(GRPC, GRPC_PORT), ports.get(REST, REST_PORT))


def outside(server: Server, service: Service) -> str:
    """How it is reached from elsewhere, in words."""
    host = host_of(server, service)
    if service.kind == "LoadBalancer" and service.address:
        return f"{service.address}, ports {host.grpc} (gRPC) and {host.rest} (REST)"
    if service.kind == "LoadBalancer":
        name, where = server.name, server.namespace
        return f"its load balancer has no address yet: kubectl -n {where} get service {name}"
    if service.kind == "NodePort" and {GRPC, REST} <= service.node_ports.keys():
        grpc, rest = service.node_ports[GRPC], service.node_ports[REST]
        return f"each node's address, ports {grpc} (gRPC) and {rest} (REST)"
    forward = f"kubectl -n {server.namespace} port-forward service/{server.name}"
    return f"{forward} {host.grpc} {host.rest}"
