"""The trainer image, which only a cluster needs."""

from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import WRONG_FORM
from tf_cluster.pointer import Pointer

IMAGE_MISSING = Code("TFC308", "a cluster needs an image")

_REPOSITORY: Pointer = ("image", "repository")


def check(params: Params) -> Iterator[Finding]:
    """Findings on a missing image, and on a repository that contains a tag."""
    repository = params.value_at(_REPOSITORY) or ""
    if not repository and "image" not in params.document.data:
        message = (
            "'image' is missing: a cluster needs the trainer image (`tf-cluster run` does not)"
        )
        fix = "add image: registry.example.com/team/trainer:1.0; `make image` builds one"
        yield params.finding(("image",), IMAGE_MISSING, message, fix=fix, at_key=True)
    if ":" in repository.rpartition("/")[2]:
        message = f"image.repository is '{repository}', with a tag"
        fix = "write the whole reference as the key image"
        where = params.origin_of(_REPOSITORY)
        yield params.finding(where, WRONG_FORM, message, repository, fix)
