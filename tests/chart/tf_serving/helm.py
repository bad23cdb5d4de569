"""charts/tf-serving through the real helm."""

from __future__ import annotations

import json
from typing import Any

from tests.chart.helm import ROOT, Object, RefusedError, Rendered, Values, command, merged, template
from tests.chart.tf_serving.features import LEAST

SERVING = ROOT / "charts" / "tf-serving"


def render(
    values: Values, release: str = "digits", helm: str = "helm", kubernetes: str = ""
) -> Rendered:
    """Render, as it is installed in the namespace `training`. Raises RefusedError."""
    return template(json.dumps(values), release, "training", str(SERVING), helm, kubernetes)


def with_least(changes: Values) -> dict[str, Any]:
    """The least values with changes laid over them."""
    return merged(LEAST, changes)


def refusal(values: Values, release: str = "digits") -> str:
    """Helm's message for values that it must refuse."""
    try:
        render(values, release)
    except RefusedError as error:
        return str(error)
    raise AssertionError(f"rendered: {values}")


def notes(values: Values) -> str:
    """What `helm install` would tell."""
    settings = (f"--set-json={key}={json.dumps(value)}" for key, value in values.items())
    words = ("install", "digits", str(SERVING), "--namespace=training", "--dry-run=client")
    done = command(*words, *settings)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\nNOTES:\n")[2]


def one(rendered: Rendered, kind: str, name: str = "digits") -> Object:
    """The object of this kind and name."""
    (found,) = (
        obj for obj in rendered.objects if (obj["kind"], obj["metadata"]["name"]) == (kind, name)
    )
    return found


def pod(rendered: Rendered, name: str = "digits") -> Object:
    """The pod template of the Deployment."""
    return dict(one(rendered, "Deployment", name)["spec"]["template"])


def server(rendered: Rendered, name: str = "digits") -> Object:
    """The server's container."""
    (container,) = pod(rendered, name)["spec"]["containers"]
    return dict(container)


def flags(rendered: Rendered, name: str = "digits") -> dict[str, str]:
    """The server's flags by their names."""
    words = (word.removeprefix("--").partition("=") for word in server(rendered, name)["args"])
    return {flag: value for flag, _, value in words}
