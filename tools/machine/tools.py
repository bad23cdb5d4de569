"""The Go programs of the test machine: pinned by wrapper modules, built once into a user cache."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from .commands import run
from .failure import MachineError

MODULES = Path(__file__).parent / "go"
KUBERNETES_VERSION = "1.36.3"
# The older ones that the chart is for: their API servers are asked what they take.
OLDER_KUBERNETES = (
    *("1.28.15", "1.29.15", "1.30.14", "1.31.14"),
    *("1.32.13", "1.33.13", "1.34.4", "1.35.4"),
)
# The older one that a whole cluster can be of: the oldest whose kubelet and controllers are built.
OLDER_CLUSTER = "1.33.13"
HELM_3_VERSION = "3.18.5"
ARGO_CD_VERSION = "3.1.16"


@dataclass(frozen=True)
class Tool:
    """One wrapper module below tools/machine/go and the programs built from it."""

    name: str
    packages: tuple[str, ...]
    ldflags: str = "-s -w"
    tags: str = ""
    gcflags: str = ""
    environment: tuple[tuple[str, str], ...] = field(default=())
    called: str = ""
    """What its one program is called, where that is not the last part of its package."""
    suffix: str = ""
    """What is added to the name of each program, where a newer one has that name."""

    @property
    def programs(self) -> tuple[str, ...]:
        """The files in the cache, in the order of the packages."""
        if self.called:
            return (self.called,)
        return tuple(f"{package.rsplit('/', 1)[-1]}{self.suffix}" for package in self.packages)


# Not optimized, a program is built sooner; for those that have little to do here.
QUICK_TO_BUILD = "all=-N -l"


def _kubernetes_flags(version: str) -> str:
    """What a program of Kubernetes is told of its version."""
    major, minor, _ = version.split(".")
    told = {"gitVersion": f"v{version}", "gitMajor": major, "gitMinor": minor}
    names = (f"-X k8s.io/component-base/version.{name}={said}" for name, said in told.items())
    return " ".join(("-s -w", *names))


def _of_version(version: str) -> str:
    """What is added to a program's name: `-1.28` of 1.28.15."""
    return f"-{version.rpartition('.')[0]}"


def older_api_server(version: str) -> str:
    """The name of its program: that of 1.28.15 is kube-apiserver-1.28."""
    return f"kube-apiserver{_of_version(version)}"


CLUSTER_PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
)


def of_kubernetes(name: str, version: str) -> str:
    """The name of a program of the cluster where it is of this Kubernetes; empty: the newest.

    What is no part of Kubernetes keeps its name. Raises MachineError where it is not built.
    """
    if name not in CLUSTER_PROGRAMS or version in ("", KUBERNETES_VERSION):
        return name
    if version != OLDER_CLUSTER:
        there = f"{KUBERNETES_VERSION}, {OLDER_CLUSTER}"
        raise MachineError(f"no whole cluster can be of Kubernetes {version}: there are {there}")
    return f"{name}{_of_version(version)}"


TOOLS: tuple[Tool, ...] = (
    Tool("helm", ("helm.sh/helm/v4/cmd/helm",)),
    Tool(
        "helm3",
        ("helm.sh/helm/v3/cmd/helm",),
        # As its Makefile does: built without, it takes every cluster for Kubernetes 1.20.
        ldflags=" ".join(
            (
                "-s -w",
                f"-X helm.sh/helm/v3/internal/version.version=v{HELM_3_VERSION}",
                *(
                    f"-X helm.sh/helm/v3/pkg/{place}.k8sVersion{part}={number}"
                    for place in ("chartutil", "lint/rules")
                    for part, number in zip(
                        ("Major", "Minor"), KUBERNETES_VERSION.split("."), strict=False
                    )
                ),
            )
        ),
        called="helm3",
    ),
    Tool("pause", (".",), called="pause"),
    Tool("registry", (".",), called="registry"),
    Tool(
        "kubernetes",
        tuple(f"k8s.io/kubernetes/cmd/{name}" for name in (*CLUSTER_PROGRAMS, "kubectl")),
        ldflags=_kubernetes_flags(KUBERNETES_VERSION),
    ),
    *(
        Tool(
            older_api_server(version),
            ("k8s.io/kubernetes/cmd/kube-apiserver",),
            ldflags=_kubernetes_flags(version),
            suffix=_of_version(version),
            gcflags=QUICK_TO_BUILD,
        )
        for version in OLDER_KUBERNETES
        if version != OLDER_CLUSTER
    ),
    Tool(
        f"kubernetes{_of_version(OLDER_CLUSTER)}",
        tuple(f"k8s.io/kubernetes/cmd/{name}" for name in CLUSTER_PROGRAMS),
        ldflags=_kubernetes_flags(OLDER_CLUSTER),
        suffix=_of_version(OLDER_CLUSTER),
        gcflags=QUICK_TO_BUILD,
    ),
    Tool("coredns", (".",), called="coredns"),
    # Of Kubernetes 1.25, the last that had the provisioner: what it makes of our StorageClasses.
    Tool("heketi-rules", (".",), called="heketi-rules", gcflags=QUICK_TO_BUILD),
    Tool("kwok", ("sigs.k8s.io/kwok/cmd/kwok",)),
    # What HPAs and `tf-cluster top` ask for.
    Tool(
        "metrics-server", ("sigs.k8s.io/metrics-server/cmd/metrics-server",), gcflags=QUICK_TO_BUILD
    ),
    # A second scheduler that starts all pods of a gang, or none.
    Tool(
        "scheduler-plugins",
        ("sigs.k8s.io/scheduler-plugins/cmd/scheduler",),
        called="coscheduling",
        gcflags=QUICK_TO_BUILD,
    ),
    Tool("local-path", ("github.com/rancher/local-path-provisioner",)),
    Tool(
        "kube-router",
        ("github.com/cloudnativelabs/kube-router/v2/cmd/kube-router",),
        # The fork is in no checksum database; go.sum pins it.
        environment=(("GONOSUMDB", "github.com/k3s-io/*"), ("GONOSUMCHECK", "1")),
    ),
    Tool(
        "prometheus",
        (
            "github.com/prometheus/prometheus/cmd/prometheus",
            "github.com/prometheus/prometheus/cmd/promtool",
        ),
        # Of the clouds whose targets it can find, Kubernetes alone.
        tags="remove_all_sd,enable_kubernetes_sd",
    ),
    # An Ingress controller and a Gateway, with the logins that docs/tensorboard.md gives.
    Tool("traefik", ("github.com/traefik/traefik/v3/cmd/traefik",)),
    # Its roles are one program, which runs as ARGOCD_BINARY_NAME says.
    Tool(
        "argo-cd",
        ("github.com/argoproj/argo-cd/v3/cmd",),
        ldflags=f"-s -w -X github.com/argoproj/argo-cd/v3/common.version={ARGO_CD_VERSION}",
        called="argocd",
        gcflags=QUICK_TO_BUILD,
    ),
    # The operator of TFJob, with whose start a benchmark compares ours.
    Tool(
        "training-operator",
        ("github.com/kubeflow/training-operator/cmd/training-operator.v1",),
        called="training-operator",
    ),
    # The same of JobSet, whose questions to the name server a benchmark counts.
    Tool("jobset", ("sigs.k8s.io/jobset",)),
    # The queue of docs/scheduling.md.
    Tool("kueue", ("sigs.k8s.io/kueue/cmd/kueue",), gcflags=QUICK_TO_BUILD),
)


def named(name: str) -> Tool:
    """The wrapper module of that name, or the one that builds a program of that name."""
    for tool in TOOLS:
        if name == tool.name or name in tool.programs:
            return tool
    known = ", ".join(sorted({program for tool in TOOLS for program in tool.programs}))
    raise MachineError(f"no tool is called {name!r}; there are: {known}")


def key(tool: Tool, module: Path, architecture: str = platform.machine()) -> str:
    """Changes when the same `go build` could give another program, and only then."""
    digest = hashlib.sha256()
    more = tuple(flags for flags in (tool.tags, tool.gcflags) if flags)
    flags = (tool.packages, tool.ldflags, architecture, "CGO_ENABLED=0", "-trimpath", *more)
    digest.update(repr(flags).encode())
    for file in sorted(module.iterdir()):
        if file.name in ("go.mod", "go.sum") or file.suffix == ".go":
            digest.update(f"{file.name}\0{len(file.read_bytes())}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def folder(tool: Tool, cache: Path) -> Path:
    """Where the tool's programs are, or will be, in the user cache."""
    return cache / "tools" / key(tool, MODULES / tool.name)


def program(name: str, cache: Path) -> Path:
    """The path of one program; it is built first when the cache lacks it."""
    tool = named(name)
    ensure(tool, cache)
    wanted = name if name in tool.programs else tool.programs[0]
    return folder(tool, cache) / wanted


def ensure(tool: Tool, cache: Path) -> None:
    """Build what the cache lacks; two sessions that build at once do no harm to each other."""
    home = folder(tool, cache)
    if all((home / program).exists() for program in tool.programs):
        return
    require_go(MODULES / tool.name)
    print(f"building {tool.name} ({', '.join(tool.programs)}) ...", file=sys.stderr, flush=True)
    begun = time.monotonic()
    home.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{tool.name}-", dir=home.parent))
    try:
        environment = {
            **os.environ,
            **dict(tool.environment),
            "CGO_ENABLED": "0",
            "GOFLAGS": "-mod=readonly",
        }
        command = ["go", "build", "-trimpath", "-ldflags", tool.ldflags, "-o", f"{scratch}/"]
        command += ["-tags", tool.tags] if tool.tags else []
        command += ["-gcflags", tool.gcflags] if tool.gcflags else []
        run(
            [*command, *tool.packages],
            environment=environment,
            directory=MODULES / tool.name,
            what=f"building {tool.name}",
        )
        home.mkdir(exist_ok=True)
        if tool.called:
            next(scratch.iterdir()).rename(home / tool.called)
        else:
            for name in tool.programs:
                (scratch / name.removesuffix(tool.suffix)).rename(home / name)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"built {tool.name} in {time.monotonic() - begun:.0f} s", file=sys.stderr, flush=True)


def source(tool: str, module: str) -> Path:
    """A module that a wrapper module requires, in Go's module cache: its files that are no program.

    Raises MachineError: no Go, no network, another sum.
    """
    directory = MODULES / tool
    require_go(directory)
    # Without a version it is go.mod's, and Go holds what it has to go.sum.
    said = run(
        ["go", "mod", "download", "-json", module], directory=directory, what=f"getting {module}"
    )
    return Path(json.loads(said)["Dir"])


def require_go(module: Path) -> None:
    """Raise MachineError where there is no Go, or none that can build the module."""
    if shutil.which("go") is None:
        raise MachineError(
            "Go is not installed. The test machine's programs are built from source: install "
            "Go 1.26 or newer (Go 1.21 or newer is enough where it may fetch its own toolchain)."
        )
    try:
        run(["go", "version"], directory=module)
    except MachineError as refused:
        raise MachineError(
            f"This Go can't build {module.name}: Go 1.26 or newer is needed, or one from 1.21 on "
            f"that may fetch its toolchain (GOTOOLCHAIN=auto).\n{refused}"
        ) from refused
