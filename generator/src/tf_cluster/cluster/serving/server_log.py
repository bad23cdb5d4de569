"""What TensorFlow Serving logs of loading: retrier.cc and loader_harness.cc of release 2.21.0."""

import re

FAILED_LOAD = re.compile(r"Loading servable: \{name: (\S+) version: (\d+)\} failed: (.*)")
"""A try to load a version that failed: model, version, and why."""
LOADED = re.compile(r"Successfully loaded servable version \{name: (\S+) version: (\d+)\}$")
LEFT = re.compile(
    r"(?:Done unloading servable version|Retrying of Loading servable:) "
    r"\{name: (\S+) version: (\d+)\}(?:$| was cancelled)"
)
"""A version that is not wanted any more: unloaded, or not tried again."""
