"""Every pod is one that Pod Security `restricted` lets in, and does a little better."""

from __future__ import annotations

import pytest

from tests.chart.features import FEATURES
from tests.chart.helm import Object, render

# https://kubernetes.io/docs/concepts/security/pod-security-standards/ (restricted)
VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def violations(pod: Object) -> list[str]:
    spec, found = pod["spec"], []
    context = spec.get("securityContext", {})
    for field in ("hostNetwork", "hostPID", "hostIPC", "hostUsers"):
        if spec.get(field):
            found.append(field)
    if context.get("runAsNonRoot") is not True:
        found.append("runAsNonRoot")
    if context.get("runAsUser") == 0:
        found.append("runAsUser")
    if context.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        found.append("seccompProfile")
    for volume in spec.get("volumes", []):
        if not VOLUMES & set(volume):
            found.append(f"volume {volume['name']}")
    for container in (*spec.get("initContainers", []), *spec["containers"]):
        own = container.get("securityContext", {})
        if own.get("allowPrivilegeEscalation") is not False or own.get("privileged"):
            found.append("allowPrivilegeEscalation")
        if own.get("capabilities") != {"drop": ["ALL"]}:
            found.append("capabilities")
        if [port for port in container.get("ports", []) if "hostPort" in port]:
            found.append("hostPort")
    return found


@pytest.mark.parametrize("feature", FEATURES)
def test_every_pod_is_restricted(feature: str) -> None:
    rendered = render(FEATURES[feature])
    for name, pod in (*rendered.pods.items(), ("test", rendered.one("Pod", "test"))):
        assert violations(pod) == [], name


@pytest.mark.parametrize("feature", FEATURES)
def test_every_root_file_system_is_read_only(feature: str) -> None:
    for pod in render(FEATURES[feature]).pods.values():
        for container in pod["spec"]["containers"]:
            assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_a_key_of_the_security_context_can_be_left_out_for_openshift() -> None:
    context = {"runAsUser": None, "runAsGroup": None, "fsGroup": None}
    for pod in render({"security": {"podSecurityContext": context}}).pods.values():
        assert set(pod["spec"]["securityContext"]) == {
            "runAsNonRoot",
            "fsGroupChangePolicy",
            "seccompProfile",
        }
