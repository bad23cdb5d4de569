"""The trainer image, which only a cluster needs."""

from collections.abc import Iterator

from tf_cluster.expand.roles import PODS
from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import WRONG_FORM
from tf_cluster.pointer import Pointer, dotted

IMAGE_MISSING = Code(
    "TFC308",
    "a cluster needs an image",
    why="Pods are made of an image. `tf-cluster run` needs none.",
    wrong=("name: digits\nprogram: {module: 'nets.digits:Digits'}"),
    right=(
        "name: digits\n"
        "image: localhost/tf-cluster-trainer:0.1.0\n"
        "program: {module: 'nets.digits:Digits'}"
    ),
)

_REPOSITORY: Pointer = ("image", "repository")


def check(params: Params) -> Iterator[Finding]:
    """Findings on a missing image, and on repositories that contain more than their name."""
    repository = params.value_at(_REPOSITORY) or ""
    if not repository and "image" not in params.document.data:
        message = (
            "'image' is missing: a cluster needs the trainer image (`tf-cluster run` does not)"
        )
        fix = "add image: registry.example.com/team/trainer:1.0; `make image` builds one"
        yield params.finding(("image",), IMAGE_MISSING, message, fix=fix, at_key=True)
    for section in ("", *PODS):
        yield from _repository(params, (section, "image") if section else ("image",))


def _repository(params: Params, image: Pointer) -> Iterator[Finding]:
    """What stands in a repository and belongs elsewhere: a tag, a digest, the registry."""
    own = params.value_at(image) or {}
    repository = own.get("repository") or ""
    registry = own.get("registry") or params.value_at(("image", "registry"))
    where = params.origin_of((*image, "repository"))
    name = dotted(where)
    if ":" in repository.rpartition("/")[2]:
        message = f"{name} is '{repository}', with a tag or a digest"
        fix = f"write them as {dotted(image)}.tag and {dotted(image)}.digest"
        if image == ("image",):
            fix = "write the whole reference as the key image"
        yield params.finding(where, WRONG_FORM, message, repository, fix)
    elif registry and repository.startswith(f"{registry}/"):
        message = f"{name} is '{repository}', and a registry is put before it: {registry}"
        fix = "leave the registry out of the repository"
        yield params.finding(where, WRONG_FORM, message, repository, fix)
    elif not repository and own.get("registry"):
        yield from _inherited(params, (*image, "registry"), own["registry"])


def _inherited(params: Params, path: Pointer, registry: str) -> Iterator[Finding]:
    """A role's registry before the repository of all roles, which has it already."""
    repository = params.value_at(_REPOSITORY) or ""
    if repository.startswith(f"{registry}/"):
        where = params.origin_of(path)
        message = (
            f"{dotted(where)} is '{registry}', which the repository '{repository}' has already"
        )
        fix = f"leave out {dotted(path)}"
        yield params.finding(where, WRONG_FORM, message, registry, fix)
