"""The policy's names of GPUs in the partitions of a cluster that engines divide separately."""

from __future__ import annotations

from collections.abc import Iterable

from apportion_policy.resources import GPU, gpu_resource


def counted_resource(model: str | None, capacities: Iterable[str], *, is_divided: bool) -> str | None:
    """Return the policy's name of the GPUs in a partition of a cluster; None for a partition without GPUs.

    Args:
        model: GPU model of the partition; None for that of all other nodes.
        capacities: The resources that the cluster counts.
        is_divided: Whether there are other partitions.
    """
    if model is not None:
        return gpu_resource(model)
    models = [resource for resource in capacities if resource.startswith(f"{GPU}/")]
    if is_divided:
        return None
    return models[0] if len(models) == 1 else GPU
