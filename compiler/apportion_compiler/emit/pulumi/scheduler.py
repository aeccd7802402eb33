"""The packaged scheduler as a component, on the clusters listed in `apportion:schedulers`."""

from __future__ import annotations

import pulumi

from apportion_compiler.emit.pulumi.resource_names import SCHEDULER_TYPE, resource_type, scheduler_name
from apportion_compiler.emit.pulumi.resource_options import owned
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_compiler.rollout.identity import identity_of


def register_scheduler(
    cluster: str, packaged: SchedulerDeployment, provider: pulumi.ProviderResource
) -> list[pulumi.Resource]:
    """Register the scheduler of a cluster, each object after those before it, and return the resources."""
    name = scheduler_name(cluster)
    component = pulumi.ComponentResource(SCHEDULER_TYPE, name)
    made: list[pulumi.Resource] = []
    for manifest in scheduler_objects(packaged):
        identity = identity_of(manifest)
        options = pulumi.ResourceOptions(parent=component, provider=provider, depends_on=list(made))
        resource = f"{name}/{identity.kind}/{identity.name}"
        made.append(pulumi.CustomResource(resource_type(manifest), resource, dict(owned(manifest)), options))
    component.register_outputs({})
    return made
