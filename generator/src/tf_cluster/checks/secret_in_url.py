"""A secret in the address of the code."""

import re
from collections.abc import Iterator

from tf_cluster.findings.finding import Code, Finding
from tf_cluster.params.params import Params
from tf_cluster.pointer import Pointer, dotted

SECRET_IN_URL = Code(
    "TFC408",
    "a secret in the address of the code (advice)",
    why=(
        "The address stands in the values file, in the release and in a ConfigMap, which many may "
        "read. A Secret is for what only tasks may."
    ),
    wrong=(
        "program:\n"
        "  module: nets.digits:Digits\n"
        "  source:\n"
        "    url: https://code.example.com/digits.zip?token=abc123\n"
        "    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    ),
    right=(
        "program:\n"
        "  module: nets.digits:Digits\n"
        "  source:\n"
        "    url: https://code.example.com/digits.zip\n"
        "    sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n"
        "    secretName: code-login"
    ),
)

_SECRET = re.compile(
    r"[?&;]((?:[a-z0-9]+[-_.])*"
    r"(?:token|sig|signature|secret|password|passwd|pwd|apikey|key|auth|credential))=[^&;]",
    re.IGNORECASE,
)


def check(params: Params) -> Iterator[Finding]:
    """Advice on an address whose query has one. The message does not repeat it."""
    for form in ("url", "git"):
        path: Pointer = ("program", "source", form)
        match = _SECRET.search(params.value_at(path) or "")
        if match:
            where = params.origin_of(path)
            message = (
                f"{dotted(where)} has a {match.group(1)} in it, which the values, the release and "
                "the ConfigMap then show"
            )
            fix = "put it into a Secret, and name that as program.source.secretName"
            yield params.finding(where, SECRET_IN_URL, message, None, fix, "advice")
