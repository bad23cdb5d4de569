"""Nulls in extraValues."""

from collections.abc import Iterator, Mapping
from typing import Any

from tf_cluster.expand.expand import leaves
from tf_cluster.findings.finding import Finding
from tf_cluster.params.params import Params
from tf_cluster.params.schema_violations import CHART_REFUSES
from tf_cluster.pointer import Pointer, dotted

REMOVES = "is null, which removes what the chart needs there"
FIX = "leave it out, or give a value"

NEEDED = [
    "enabled",
    "clusterDomain",
    "image",
    "image.pullPolicy",
    "run.id",
    "run.attempt",
    "program",
    "program.ps",
    "logging",
    "logging.format",
    "strategy",
    "replication",
    "update",
    "train.steps",
    "train.batchSize",
    "train.microBatches",
    "train.seed",
    "train.precision",
    "train.xla",
    "train.optimizer.name",
    "train.optimizer.learningRate",
    "train.optimizer.schedule.name",
    "train.optimizer.schedule.warmupSteps",
    "train.checkpoint.seconds",
    "train.checkpoint.keep",
    "train.reportSeconds",
    "peers.deadlineSeconds",
    "failure.restarts",
    "failure.finalStateSeconds",
    "chief.backoffLimit",
    "chief.terminationGracePeriodSeconds",
    "worker.replicas",
    "worker.successPolicy",
    "worker.backoffLimit",
    "worker.terminationGracePeriodSeconds",
    "ps.replicas",
    "ps.preStopSeconds",
    "ps.logVolume",
    "ps.terminationGracePeriodSeconds",
    "scheduling.psNearWorkers",
    "scheduling.gang.provider",
    "interactive.enabled",
    "interactive.idleSeconds",
    "evaluator.enabled",
    "evaluator.exportBest.mode",
    "evaluator.backoffLimit",
    "evaluator.terminationGracePeriodSeconds",
    "cleanup.enabled",
    "cleanup.delaySeconds.success",
    "cleanup.workersTimeoutSeconds",
    "tensorboard.enabled",
    "tensorboard.reloadSeconds",
    "tensorboard.service.type",
    "tensorboard.service.port",
    "tensorboard.ingress.enabled",
    "tensorboard.httpRoute.enabled",
    "tensorboard.terminationGracePeriodSeconds",
    "notebook.enabled",
    "notebook.token.key",
    "notebook.service.type",
    "notebook.service.port",
    "notebook.ingress.enabled",
    "notebook.httpRoute.enabled",
    "notebook.terminationGracePeriodSeconds",
    "storage.data.enabled",
    "storage.data.size",
    "storage.data.accessModes",
    "storage.log.size",
    "storage.log.accessModes",
    "serviceAccount.create",
    "security.networkPolicy.enabled",
    "monitoring.scrapeAnnotations",
    "monitoring.podMonitor.enabled",
    "monitoring.podMonitor.interval",
    "monitoring.rules.enabled",
    "monitoring.rules.stalledSeconds",
    "monitoring.rules.checkpointSeconds",
    "monitoring.rules.losses",
    "monitoring.rules.alertLabels",
    "monitoring.dashboard.enabled",
    "monitoring.dashboard.labels",
]
"""What the chart needs, and has a default for: its guard against nulls has the same list."""


def check(params: Params) -> Iterator[Finding]:
    """A finding for each null that would remove a value that the chart needs."""
    for path in nulls(params.sound.get("extraValues", {})):
        message = f"extraValues.{dotted(path)} {REMOVES}"
        where = ("extraValues", *path)
        yield params.finding(where, CHART_REFUSES, message, fix=FIX)


def nulls(values: Mapping[str, Any]) -> Iterator[Pointer]:
    """Where values of the chart are null and must not be."""
    for path, value in leaves(values):
        name = dotted(path)
        if value is None and any(f"{needed}.".startswith(f"{name}.") for needed in NEEDED):
            yield path
