"""Which images the cases of serving use: the stand-in of tests/serving, or what one names."""

from __future__ import annotations

import os

STAND_IN = "localhost/tf-cluster-test/serving-stand-in:0.1.0"
SERVING_IMAGE = os.environ.get("SERVING_IMAGE", STAND_IN)
"""The server's."""
CLIENT_IMAGE = os.environ.get("SERVING_CLIENT_IMAGE", STAND_IN)
"""One with Python, TensorFlow and tensorflow-serving-api, as a client has them."""
CLIENT = "tf-cluster.io/serving-client"
"""The label of who may ask, with the server's name."""
