"""Provisioning plans: capacity that is requested as a unit and provisioned later."""

from __future__ import annotations

import re

from pydantic import Field

from apportion_policy.declaration import Declaration
from apportion_policy.duration import Duration
from apportion_policy.identifiers import Identifier

QUEUED_PROVISIONING_GKE = "queued-provisioning.gke.io"

MAX_RUN_DURATION_PARAMETER = "maxRunDurationSeconds"
"""The parameter of the class that limits the lifetime of a request's nodes."""
MAX_RUN_SECONDS = 604_800
"""Seven days, in seconds: GKE's maximum and default."""

_SECONDS = re.compile(r"[0-9]{1,18}")


def parse_run_seconds(text: str) -> int | None:
    """Return the value of the parameter in seconds; None if it is not a whole number or exceeds 64 bits."""
    return int(text) if _SECONDS.fullmatch(text) else None


class ProvisioningPlan(Declaration):
    """Queued provisioning: how all nodes of a workload are requested at once.

    Source: `autoscaling.x-k8s.io` ProvisioningRequest; GKE Dynamic Workload Scheduler.
    """

    id: Identifier = Field(description="Permanent identity, unique in the policy.")
    provisioning_class: str = Field(default=QUEUED_PROVISIONING_GKE, description="The provider's provisioning class.")
    max_run_duration: Duration | None = Field(
        default=None,
        description="Maximum lifetime of provisioned nodes. If unset, the provider's limit, seven days on GKE.",
    )
    max_nodes_per_request: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of nodes per request. If unset, the provider's limit, 1,000 on GKE.",
    )
    retry_limit: int | None = Field(
        default=None, ge=0, description="Number of retries after a failure. If unset, the engine's default."
    )
    retry_backoff_base: Duration | None = Field(default=None, description="Time to wait before the first retry.")
    retry_backoff_max: Duration | None = Field(default=None, description="Maximum time to wait before a retry.")
    parameters: dict[str, str] = Field(default={}, description="Additional parameters of the provisioning class.")

    @property
    def identity(self) -> str:
        """The id."""
        return self.id
