"""The command line: `python -m tools.machine up|down|status|kubeconfig|image|...`.

Data goes to stdout and words to stderr. Exit status 0 is good, 1 says that the machine
could not do it or that something is not as it should be, 2 is wrong usage.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence

from . import custom_resources, packages, tools
from .failure import MachineError
from .image import image
from .image_inputs import REPOSITORY, TrainerImage, trainer_version
from .layout import Addresses, Layout, default_layout
from .leftovers import leftovers
from .start import lacking, plan, up
from .stop import down
from .volume import StaticVolume, create


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    chosen = parser().parse_args(arguments)
    layout, addresses = default_layout(), Addresses()
    try:
        return _carry_out(chosen, layout, addresses)
    except MachineError as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; the next `up` repairs or removes what was begun", file=sys.stderr)
        return 130


def _carry_out(chosen: argparse.Namespace, layout: Layout, addresses: Addresses) -> int:
    match chosen.command:
        case "up":
            up(layout, addresses)
            print(f"export KUBECONFIG={layout.kubeconfig}")
        case "down":
            down(layout, addresses)
        case "status":
            there = layout.state.exists()
            missing = lacking(plan(layout, addresses)) if there else ["it was not started"]
            print("\n".join(missing) or f"up: {addresses.api}")
            return 1 if missing else 0
        case "kubeconfig":
            if not layout.kubeconfig.exists():
                raise MachineError("the test cluster is not up; `make cluster-up` starts it")
            print(layout.kubeconfig)
        case "check":
            left = leftovers(layout, addresses)
            print("\n".join(left), end="\n" if left else "")
            return 1 if left else 0
        case "image":
            version = chosen.version or trainer_version(REPOSITORY)
            wanted = TrainerImage(
                REPOSITORY, version, chosen.target, chosen.tf_version, chosen.base
            )
            print(image(wanted, layout, chosen.load))
        case "volume":
            made = StaticVolume(chosen.name, chosen.uid, int(chosen.mode, 8), chosen.size)
            print(create(made, layout, addresses))
        case "apis":
            print("\n".join(custom_resources.install(layout)))
        case "browser":
            packages.ensure(packages.BROWSER, layout)
            print(shutil.which("chromium"), shutil.which("chromedriver"), sep="\n")
        case "tools":
            for name in chosen.names or [one for tool in tools.TOOLS for one in tool.programs]:
                print(tools.program(name, layout.cache))
    return 0


def parser() -> argparse.ArgumentParser:
    """What the command takes."""
    made = argparse.ArgumentParser(
        prog="python -m tools.machine",
        description="A real Kubernetes on this machine, for tests.",
    )
    commands = made.add_subparsers(dest="command", required=True)
    commands.add_parser("up", help="start it, or repair it; prints the export line on stdout")
    commands.add_parser("down", help="remove it and all it made")
    commands.add_parser("status", help="say whether it is well, or what is not")
    commands.add_parser("kubeconfig", help="print the path of its kubeconfig")
    commands.add_parser("check", help="list what of it is on this machine; exit 1 if anything is")
    build = commands.add_parser(
        "image", help="build a trainer image, or one over it, and load it; prints its name"
    )
    build.add_argument("--version", default="", help="its tag; default: the trainer's version")
    build.add_argument("--target", default="cpu", help="cpu, gpu, notebook or serving-stand-in")
    build.add_argument(
        "--tf-version", default="", help="TF_VERSION; `make lock TF_VERSION=...` makes its locks"
    )
    build.add_argument(
        "--base", default="", help="BASE; for buildah it must be in its storage already"
    )
    build.add_argument(
        "--load",
        default="",
        metavar="WHERE",
        help="kind:NAME or none; default: the test cluster, when it is up",
    )
    volume = commands.add_parser(
        "volume", help="make a static ReadWriteMany volume; prints its directory on the host"
    )
    volume.add_argument("name")
    volume.add_argument("--uid", type=int, default=1000, help="owner of the directory")
    volume.add_argument("--mode", default="770", help="of the directory, octal")
    volume.add_argument("--size", default="10Gi", help="capacity that the volume claims to have")
    commands.add_parser(
        "apis", help="install the definitions of others' APIs (PodMonitor, ...); prints their names"
    )
    commands.add_parser("browser", help="install Chromium and its driver; prints the paths of both")
    tool = commands.add_parser("tools", help="build Go programs into the cache, print their paths")
    tool.add_argument("names", nargs="*", metavar="NAME", help="helm, kubectl, ...; default: all")
    return made


if __name__ == "__main__":
    sys.exit(main())
