"""The notebook's image is another target of the Dockerfile."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

NOTEBOOK_IMAGE = Code(
    "TFC361",
    "a notebook beside a digest of the trainer image",
    why=(
        "The digest is the trainer's image, which has no notebook server, so the notebook "
        "would never start."
    ),
    wrong=("image: localhost/trainer@sha256:«a × 64»\nextraValues: {notebook: {enabled: true}}"),
    right=(
        "image: localhost/trainer@sha256:«a × 64»\n"
        "extraValues: {notebook: {enabled: true, image: {tag: '1.0-notebook'}}}"
    ),
)

_ENABLED: Pointer = ("notebook", "enabled")
_DIGEST: Pointer = ("image", "digest")


def check(params: Params) -> Iterator[Finding]:
    """A finding if the notebook would take the digest of the trainer image."""
    own = params.value_at(("notebook", "image")) or {}
    if params.value_at(_ENABLED) is not True or not params.value_at(_DIGEST):
        return
    if not any(own.get(key) for key in ("tag", "digest", "repository")):
        where = params.origin_of(_ENABLED)
        message = (
            f"{dotted(where)} is true, but {dotted(params.origin_of(_DIGEST))} is the trainer's"
        )
        fix = "name the image of the target notebook, as in notebook: {image: …}"
        if where[0] == "extraValues":
            fix = "name the image of the target notebook: notebook.image.digest or .tag"
        yield params.finding(where, NOTEBOOK_IMAGE, message, True, fix)
