import re
from dataclasses import replace
from pathlib import Path

import pytest

from tools.machine import tools
from tools.machine.failure import MachineError
from tools.machine.tools import KUBERNETES_VERSION


def _module(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "go.mod").write_text("module example\n")
    (folder / "go.sum").write_text("")
    return folder


def test_the_same_module_has_the_same_key_in_another_clone(tmp_path: Path) -> None:
    tool = tools.named("helm")
    assert tools.key(tool, _module(tmp_path / "a")) == tools.key(tool, _module(tmp_path / "b"))


def test_a_changed_sum_file_changes_the_key(tmp_path: Path) -> None:
    module = _module(tmp_path / "module")
    before = tools.key(tools.named("helm"), module)
    (module / "go.sum").write_text("another\n")
    assert tools.key(tools.named("helm"), module) != before


def test_changed_flags_change_the_key(tmp_path: Path) -> None:
    module, tool = _module(tmp_path / "module"), tools.named("helm")
    assert tools.key(replace(tool, ldflags="-s"), module) != tools.key(tool, module)


def test_another_processor_has_another_key(tmp_path: Path) -> None:
    module, tool = _module(tmp_path / "module"), tools.named("helm")
    assert tools.key(tool, module, "x86_64") != tools.key(tool, module, "aarch64")


def test_a_tool_is_found_by_each_program_it_builds() -> None:
    assert tools.named("kubectl") is tools.named("kubelet") is tools.named("kubernetes")


def test_an_unknown_tool_is_refused_with_the_known_ones() -> None:
    with pytest.raises(MachineError, match=r"no tool is called 'kubctl'.*kubectl"):
        tools.named("kubctl")


@pytest.mark.parametrize("tool", tools.TOOLS, ids=lambda tool: tool.name)
def test_every_tool_has_a_module_that_pins_what_it_builds(tool: tools.Tool) -> None:
    module = tools.MODULES / tool.name
    source = "".join(file.read_text() for file in module.glob("*.go"))
    assert (module / "go.mod").exists()
    for package in tool.packages:
        assert package == "." or f'"{package}"' in source


@pytest.mark.parametrize("version", [tools.KUBERNETES_VERSION, *tools.OLDER_KUBERNETES])
def test_a_kubernetes_module_requires_the_version_that_the_programs_report(version: str) -> None:
    newest = version == tools.KUBERNETES_VERSION
    tool = tools.named("kube-apiserver" if newest else tools.older_api_server(version))
    text = (tools.MODULES / tool.name / "go.mod").read_text()
    assert f"k8s.io/kubernetes v{version}\n" in text
    assert f"version.gitVersion=v{version}" in tool.ldflags


@pytest.mark.parametrize("name", tools.CLUSTER_PROGRAMS)
def test_a_whole_cluster_can_be_of_an_older_kubernetes(name: str) -> None:
    of_ours = tools.of_kubernetes(name, "")
    assert of_ours == tools.of_kubernetes(name, tools.KUBERNETES_VERSION) == name
    assert tools.of_kubernetes(name, tools.OLDER_CLUSTER) == f"{name}-1.33"
    assert f"{name}-1.33" in tools.named(f"{name}-1.33").programs


def test_other_versions_of_a_cluster_are_refused_with_those_that_there_are() -> None:
    assert tools.of_kubernetes("coredns", "1.30.14") == "coredns"  # no part of Kubernetes
    with pytest.raises(MachineError, match=r"of Kubernetes 1\.30\.14: there are 1\.36.*1\.33"):
        tools.of_kubernetes("kubelet", "1.30.14")


def test_the_helm_3_module_requires_the_version_that_the_program_reports() -> None:
    text = (tools.MODULES / "helm3" / "go.mod").read_text()
    assert f"helm.sh/helm/v3 v{tools.HELM_3_VERSION}\n" in text


# Go compiles a package once for all tools where it, and all below it, has one version in them.
# Helm 4 alone is built of what its makers chose: the chart is judged by it.
@pytest.mark.parametrize("name", ["helm3", "coredns", "local-path", "kube-router"])
def test_what_a_tool_shares_with_kubernetes_has_the_version_that_kubernetes_has(name: str) -> None:
    minor = KUBERNETES_VERSION.removeprefix("1.")
    kubernetes, ours = versions("kubernetes"), versions(name)
    shared = {module for module in ours if module.startswith(SHARED) and module in kubernetes}

    assert ours["k8s.io/client-go"] == f"v0.{minor}"
    assert {module: ours[module] for module in shared} == {
        module: kubernetes[module] for module in shared
    }


SHARED = (
    "k8s.io/",
    "sigs.k8s.io/",
    "google.golang.org/",
    *(f"golang.org/x/{name}" for name in ("net", "oauth2", "sys", "term", "text", "time")),
)


def versions(name: str) -> dict[str, str]:
    """What the tool is built of: each module's version, or that of its replacement."""
    text = (tools.MODULES / name / "go.mod").read_text()
    required = re.findall(r"^(?:require |\t)(\S+) (v\S+)", text, flags=re.MULTILINE)
    replaced = re.findall(r"^\t(\S+) => \1 (v\S+)", text, flags=re.MULTILINE)
    return dict(required + replaced)


def test_no_two_tools_build_programs_of_one_name() -> None:
    programs = [program for tool in tools.TOOLS for program in tool.programs]
    assert len(set(programs)) == len(programs)


def test_a_built_tool_is_not_built_again(tmp_path: Path) -> None:
    tool = tools.named("helm")
    home = tools.folder(tool, tmp_path)
    home.mkdir(parents=True)
    (home / "helm").touch()
    assert tools.program("helm", tmp_path) == home / "helm"


def test_without_go_the_message_says_which_version_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MachineError, match=r"Go is not installed.*Go 1\.26"):
        tools.program("helm", tmp_path)
