"""The command `tf-cluster-cleanup --plan JSON`.

Exit codes: 0 the attempt has ended and its parameter servers are at 0 (or kept, as planned); 2 the
plan can't be used; 1 the API server could not be used or the attempt never came; 143 SIGTERM, so
that a Job's pod that is moved to another node does not count as done.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from types import FrameType

from lightkube import Client

from tf_cluster_cleanup import log as logs
from tf_cluster_cleanup.attempt import API_ERRORS, KubernetesAttempt
from tf_cluster_cleanup.loop import ApiUnusableError, end_attempt
from tf_cluster_cleanup.plan import PlanError, parse_plan


def main(argv: list[str] | None = None) -> int:
    """Run cleanup in a pod, or with the kubeconfig of whoever calls it."""
    parser = argparse.ArgumentParser(
        prog="tf-cluster-cleanup",
        description="Wait for a training to end, then scale its parameter servers to 0.",
    )
    parser.add_argument("--plan", required=True, help="JSON: see tf_cluster_cleanup/plan.py")
    parser.add_argument("--namespace", help="default: the pod's, or the kubeconfig's")
    arguments = parser.parse_args(argv)
    try:
        log = logs.log_of(os.environ)
    except logs.FormatError as error:
        logs.text(str(error))
        return 2
    try:
        plan = parse_plan(arguments.plan)
    except PlanError as error:
        log(f"--plan: {error}", "ERROR")
        return 2
    # As PID 1 a process without a handler of its own does not get SIGTERM at all.
    signal.signal(signal.SIGTERM, _leave)
    try:
        attempt = KubernetesAttempt(Client(namespace=arguments.namespace))
        came = end_attempt(plan, attempt, clock=time.monotonic, sleep=time.sleep, log=log)
    except (ApiUnusableError, *API_ERRORS) as error:
        log(f"the API server can't be used: {error}", "ERROR")
        return 1
    return 0 if came else 1


def _leave(signum: int, frame: FrameType | None) -> None:
    sys.exit(128 + signum)
