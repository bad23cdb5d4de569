"""A chief's child that trains nothing, and reports at the default cadence. No TensorFlow."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

REPORT_SECONDS = 2.0  # the chart's train.reportSeconds
control, answers = (int(number) for number in os.environ["TF_CLUSTER_CONTROL"].split(","))


def tell(kind: str, **fields: object) -> None:
    os.write(answers, (json.dumps({"kind": kind, **fields}) + "\n").encode())


signal.signal(signal.SIGTERM, lambda *_: sys.exit(42))
tell("Ready")
assert json.loads(os.read(control, 1000)) == {"kind": "Go"}
tell("Placement", devices={"weights": "/job:ps/replica:0/task:0"})
tell("Phase", status="running", message="training")
step = 0
while True:
    step += 100
    tell(
        "Progress",
        step=step,
        examples=64 * step,
        steps_per_second=50.0,
        loss=1.0,
        workers={"0": step},
    )
    time.sleep(REPORT_SECONDS)
