"""The command `package`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from tf_cluster.cli.help import ends_with
from tf_cluster.cli.serving import tell_line


@ends_with("""\
Examples:
  tf-cluster package runs/digits/1/export -o digits-image
  tf-cluster package runs/digits/1/best --version 3 -o digits-image

Makes a directory with the version and a Dockerfile, for clusters without shared storage: a server \
of charts/tf-serving copies the model from the image that docker, podman or buildah builds of it. \
An export on a claim is copied here first, by kubectl cp for one.

Exit codes: 0 written; 2 there is no whole version, or the directory can't be written.
""")
def package(
    export: Annotated[
        str, typer.Argument(metavar="EXPORT", help="A directory of versions, or one version.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="DIR", help="Where: a new directory.")
    ],
    version: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="This version, not the newest.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace DIR, if this command wrote it.")
    ] = False,
) -> None:
    """Make the build context of an image that holds a model."""
    from tf_cluster.cluster.pruning.volume import size_text
    from tf_cluster.cluster.serving.packing import MODEL, pack
    from tf_cluster.files import refuse_no_name
    from tf_cluster.printable import printable_lines

    refuse_no_name(export)
    refuse_no_name(output)
    packed = pack(Path(export), version, Path(output), force=force)
    tell_line(f"wrote {output}: version {packed.number}, {size_text(packed.size)}")
    image = f"registry.example/models/NAME:{packed.number}"
    lines = [
        f"docker build --tag {image} {shlex.quote(output)}",
        f"docker push {image}",
        "# values of charts/tf-serving:",
        "models:",
        "  NAME:",
        f"    source: {{image: {{reference: {image}, path: /{MODEL}}}}}",
    ]
    sys.stdout.write(printable_lines("".join(f"{line}\n" for line in lines)))
