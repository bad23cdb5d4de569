"""The chief's child with a stopwatch in all that reports: counters, progress, events."""

from __future__ import annotations

import os
import runpy

# As child/tasks.py does before TensorFlow is imported.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
os.environ.setdefault("GRPC_FAIL_FAST", "use_caller")

from stopwatch import Stopwatch
from tf_cluster_trainer.loop.reports import Reports
from tf_cluster_trainer.strategies.in_graph.async_ import InGraphAsync

stopwatch = Stopwatch("child")
stopwatch.watch(InGraphAsync, "counters")
stopwatch.watch(Reports, "report")
runpy.run_module("tf_cluster_trainer.child", run_name="__main__", alter_sys=True)
