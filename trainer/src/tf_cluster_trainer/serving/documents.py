"""What the commands of this room print: one JSON document, for the Job that runs them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PATH_VARIABLE = "TF_CLUSTER_TERMINATION_LOG"
DEFAULT_PATH = "/dev/termination-log"
MOST_BYTES = 4096
"""What Kubernetes keeps of a container's termination message."""


def hand_over(document: Mapping[str, Any], environment: Mapping[str, str] = os.environ) -> None:
    """Print it as the last line, and leave it as the termination message where it fits."""
    line = json.dumps(document, allow_nan=False)  # in ASCII, whatever the names of files hold
    path = Path(environment.get(PATH_VARIABLE, DEFAULT_PATH))
    content = line.encode()
    try:
        # The kubelet makes the file, and nobody else.
        if len(content) <= MOST_BYTES and path.is_file():
            path.write_bytes(content)
    except OSError as error:  # the line says it, too
        print(f"can't write the termination message: {error}", file=sys.stderr, flush=True)
    print(line, flush=True)
