"""The attempt's objects in the API server: the only file that talks to it."""

from __future__ import annotations

from typing import Protocol

import httpx2
from lightkube import ApiError, Client
from lightkube.core.exceptions import ConfigError
from lightkube.resources.apps_v1 import DeploymentScale
from lightkube.resources.batch_v1 import Job
from lightkube.types import PatchType

from tf_cluster_cleanup.job_state import JobState, Phase, from_job

# What a call raises when the API server says no, can't be reached or does not answer in time.
API_ERRORS = (httpx2.HTTPError, ConfigError)
FORBIDDEN, INVALID = 403, 422


class Attempt(Protocol):
    """One attempt's Jobs and Deployments, by name. Every method may raise one of API_ERRORS."""

    def job(self, name: str) -> JobState:
        """The state of a Job."""

    def end_job(self, name: str) -> bool:
        """Let a running Job fail now. False when it is gone."""

    def resize_job(self, name: str, completions: int) -> bool:
        """Give an Indexed Job so many indexes. False when it is gone or may not change so."""

    def scale_to_zero(self, deployment: str) -> bool:
        """Let a Deployment have no pods. False when it is gone."""


class KubernetesAttempt:
    """The attempt as the API server has it."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def job(self, name: str) -> JobState:
        """The state of a Job."""
        try:
            job = self._client.get(Job, name)
        except ApiError as error:
            if _is_gone(error):
                return JobState(Phase.ABSENT)
            raise
        return from_job(job.spec, job.status)

    def end_job(self, name: str) -> bool:
        """Set activeDeadlineSeconds, which a running Job lets change: its pods get SIGTERM."""
        return self._patch(Job, name, {"spec": {"activeDeadlineSeconds": 1}})

    def resize_job(self, name: str, completions: int) -> bool:
        """Both numbers at once: Kubernetes (1.27 or newer) lets an Indexed Job change only so."""
        size = {"completions": completions, "parallelism": completions}
        try:
            return self._patch(Job, name, {"spec": size})
        except ApiError as error:
            if error.status.code in (FORBIDDEN, INVALID):
                return False
            raise

    def scale_to_zero(self, deployment: str) -> bool:
        """Scale through the sub-resource, the only right that cleanup has on a Deployment."""
        return self._patch(DeploymentScale, deployment, {"spec": {"replicas": 0}})

    def _patch(
        self, kind: type[Job] | type[DeploymentScale], name: str, change: dict[str, object]
    ) -> bool:
        try:
            self._client.patch(kind, name, change, patch_type=PatchType.MERGE)
        except ApiError as error:
            if _is_gone(error):
                return False
            raise
        return True


def _is_gone(error: ApiError) -> bool:
    return error.status.code == 404
