"""Signals that arrive at any moment, also while the run takes or returns a lock."""

import subprocess
import sys

from tests.support.waiting import HANG_SECONDS

_MANY_SIGNALS = """
import os, random, signal, sys, threading, time
from tf_cluster.local.signals import StopRequest

sys.setswitchinterval(1e-6)

def send() -> None:
    time.sleep(random.random() * 1e-4)
    os.kill(os.getpid(), signal.SIGTERM)

for _ in range(1000):
    request = StopRequest()
    request.install()
    sender = threading.Thread(target=send)
    sender.start()
    while not request.asked:
        request.wait(0)
    sender.join()
"""


def test_a_signal_at_any_moment_of_a_wait_is_noticed() -> None:
    subprocess.run((sys.executable, "-c", _MANY_SIGNALS), timeout=HANG_SECONDS, check=True)
