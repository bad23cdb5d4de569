"""The status document in Prometheus' text format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from tf_cluster_trainer.protocol import Way
from tf_cluster_trainer.supervisor.status.counts import NOTHING_COUNTED, Counts
from tf_cluster_trainer.supervisor.status.document import Document


class _Snapshot(Collector):
    """One document's numbers. Unknown ones are left out, as Prometheus wants it."""

    def __init__(self, document: Document, serving: bool, counts: Counts) -> None:
        self._document = document
        self._serving = serving
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        now = self._document
        gauges = {
            "step": (now.step, "Applied updates of the run so far."),
            "step_target": (now.total, "Applied updates that the run will have at its end."),
            "examples": (now.examples, "Examples trained on so far."),
            "steps_per_second": (now.steps_per_second, "Applied updates per second, lately."),
            "examples_per_second": (now.examples_per_second, "Examples per second, lately."),
            "eta_seconds": (now.eta_seconds, "Estimated seconds until the total is reached."),
            "loss": (now.loss, "Loss as last reported."),
            "checkpoint_step": (now.checkpoint_step, "Step of the newest whole checkpoint."),
            "checkpoint_bytes": (
                self._counts.checkpoint_bytes,
                "Bytes of the newest checkpoint's tensors.",
            ),
            "serving": (float(self._serving), "1 while the TensorFlow server accepts calls."),
            "final": (float(now.final), "1 when the attempt is over."),
        }
        for name, (value, help_text) in gauges.items():
            if value is not None:
                yield GaugeMetricFamily(f"tf_cluster_{name}", help_text, value=value)
        yield CounterMetricFamily(
            "tf_cluster_restarts", "Children started again in this pod.", value=now.restarts
        )
        workers = GaugeMetricFamily(
            "tf_cluster_worker_steps", "Steps made by each worker index.", labels=["worker"]
        )
        for worker, steps in now.workers.items():
            workers.add_metric([worker], steps)
        yield workers
        saved = SummaryMetricFamily(
            "tf_cluster_checkpoint_seconds",
            "From the start of a save until the checkpoint was whole on disk, by its way.",
            labels=["way"],
        )
        for way in get_args(Way):  # from 0: a rate would miss the first of each
            saved.add_metric([way], *self._counts.checkpoints.get(way, (0, 0.0)))
        yield saved
        on_ps = GaugeMetricFamily(
            "tf_cluster_ps_state_bytes", "Bytes of the state on each ps.", labels=["ps"]
        )
        for task, size in self._counts.ps_bytes.items():
            on_ps.add_metric([task], size)
        yield on_ps
        losses = CounterMetricFamily(
            "tf_cluster_task_losses", "How often the chief lost a task.", labels=["task"]
        )
        for task, times in self._counts.losses.items():
            losses.add_metric([task], times)
        yield losses


def text(document: Document, serving: bool, counts: Counts = NOTHING_COUNTED) -> bytes:
    """What /metrics answers."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Snapshot(document, serving, counts))
    return generate_latest(registry)
