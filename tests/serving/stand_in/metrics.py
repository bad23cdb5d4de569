"""The true server's metrics, by its names, as its Prometheus page writes them.

util/prometheus_exporter.cc; the labels and buckets are those of servables/tensorflow/util.cc,
saved_model_warmup_util.cc and TensorFlow's own loader.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PATH = "/monitoring/prometheus/metrics"
REQUESTS = ":tensorflow:serving:request_count"
LATENCY = ":tensorflow:serving:request_latency"
RUNTIME = ":tensorflow:serving:runtime_latency"
LOADS = ":tensorflow:cc:saved_model:load_attempt_count"
LOAD_LATENCY = ":tensorflow:cc:saved_model:load_latency"
WARMUPS = ":tensorflow:serving:model_warmup_latency"
WARMUP_RECORDS = ":tensorflow:serving:model_warmup_records_read"
_LABELS: Mapping[str, Sequence[str]] = {
    REQUESTS: ("model_name", "status"),
    LATENCY: ("model_name", "API", "entrypoint"),
    RUNTIME: ("model_name", "API", "runtime"),
    LOADS: ("model_path", "status"),
    LOAD_LATENCY: ("model_path",),
    WARMUPS: ("model_path", "status"),
    WARMUP_RECORDS: ("model_path", "status"),
}
_HISTOGRAMS = (LATENCY, RUNTIME, WARMUPS)
_LIMITS = [10 * 1.8**power for power in range(33)]


@dataclass
class _Histogram:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_LIMITS) + 1))
    total: float = 0.0

    def add(self, value: float) -> None:
        place = next((n for n, limit in enumerate(_LIMITS) if value < limit), len(_LIMITS))
        self.buckets[place] += 1
        self.total += value


class Metrics:
    """Counters and histograms; times are in microseconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counters: dict[tuple[str, tuple[str, ...]], int] = {}
        self._histograms: dict[tuple[str, tuple[str, ...]], _Histogram] = {}

    def count(self, name: str, *labels: str, by: int = 1) -> None:
        """Add to a counter."""
        with self._lock:
            key = (name, labels)
            self._counters[key] = self._counters.get(key, 0) + by

    def time(self, name: str, seconds: float, *labels: str) -> None:
        """Add to a histogram."""
        with self._lock:
            self._histograms.setdefault((name, labels), _Histogram()).add(seconds * 1e6)

    def page(self) -> str:
        """All of it."""
        lines = []
        with self._lock:
            for name in sorted(_LABELS):
                kind = "histogram" if name in _HISTOGRAMS else "counter"
                found = self._histograms if name in _HISTOGRAMS else self._counters
                if any(one == name for one, _ in found):
                    lines.append(f"# TYPE {name} {kind}")
                for (one, labels), counter in self._counters.items():
                    if one == name:
                        lines.append(f"{name}{{{_labels(name, labels)}}} {counter}")
                for (one, labels), histogram in self._histograms.items():
                    if one == name:
                        lines += _lines(name, _labels(name, labels), histogram)
        return "\n".join(lines) + "\n"


def _labels(name: str, values: Sequence[str]) -> str:
    pairs = zip(_LABELS[name], values, strict=True)
    return ",".join(f'{key}="{_escaped(value)}"' for key, value in pairs)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _lines(name: str, labels: str, histogram: _Histogram) -> list[str]:
    count, lines = 0, []
    for limit, number in zip((*_LIMITS, None), histogram.buckets, strict=True):
        count += number
        words = "+Inf" if limit is None else f"{limit:g}"
        lines.append(f'{name}_bucket{{{labels},le="{words}"}} {count}')
    return [
        *lines,
        f"{name}_sum{{{labels}}} {histogram.total:g}",
        f"{name}_count{{{labels}}} {count}",
    ]
