"""An image can't be had."""

from collections.abc import Iterator

from tf_cluster.cluster.doctor.finding import Finding, Rule
from tf_cluster.cluster.doctor.view import View, about
from tf_cluster.cluster.snapshot import Container

_WAITS = ("ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName")
_PULL = "Failed to pull image"
_NOT_ALLOWED = ("unauthorized", "denied", "authentication required", "forbidden")
_UNKNOWN_HOST = ("no such host", "connection refused", "i/o timeout", "network is unreachable")


def _look(view: View) -> Iterator[Finding]:
    for pod in view.pods():
        for container in pod.containers:
            if container.waits_for not in _WAITS:
                continue
            events = list(view.pod_events(pod, "Failed"))
            # Other events say nothing but that it waits.
            pull = next((one for one in events if one.message.startswith(_PULL)), None)
            event = pull or next(iter(events), None)
            said = container.message or (event.message if event else "")
            quote = pull.message if pull else said
            words, mend = _why(container, f"{said} {quote}", view.namespace)
            at = event.at if event else pod.created
            yield Finding(RULE.code, about(pod), words, mend, quote, at)


def _why(container: Container, said: str, namespace: str) -> tuple[str, str]:
    image, low = container.image, said.lower()
    if container.waits_for == "InvalidImageName":
        return f"{image!r} is no name of an image", "correct image in the params"
    if container.waits_for == "ErrImageNeverPull" or image.startswith("localhost/"):
        return (
            f"{image} is not on its node, and no registry has it",
            "load it on every node (make image LOAD=kind:NAME for kind), or push it to a registry "
            "and name that in the params",
        )
    if any(word in low for word in _NOT_ALLOWED):
        return (
            f"the registry does not allow to pull {image}, or has no such image",
            f"check the name; for a private one create a Secret (kubectl -n {namespace} create "
            "secret docker-registry …) and name it in imagePullSecrets",
        )
    if any(word in low for word in _UNKNOWN_HOST):
        return (
            f"the registry of {image} can't be reached from the node",
            "check the registry's name, and the node's network and proxy",
        )
    if "not found" in low or "manifest unknown" in low:
        return f"the registry has no {image}", "check name and tag; list what is there"
    return f"{image} can't be pulled", "kubectl describe pod shows all that the node says"


RULE = Rule(
    code="TFD111",
    about="an image can't be had",
    why="The node can't get the image: it is not there, not allowed without a Secret, its registry "
    "does not answer, or it was only built on another machine.",
    evidence="A container waits with ErrImagePull, ImagePullBackOff, ErrImageNeverPull or "
    "InvalidImageName.",
    mend="Correct `image`, push it, or name a pull Secret. [docs/images.md](images.md)",
    look=_look,
)
