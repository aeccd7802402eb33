"""The complete validation of a `queues.yaml`, as in YuniKorn (ParseAndValidateConfig, newPartitionContext).

Source: pkg/common/configs and pkg/scheduler/partition.go at be3bb487. It ends at the first fault and rejects the whole file.
"""

from __future__ import annotations

from dataclasses import replace

from apportion_api.yunikorn.configuration import Partition, partitions_of
from apportion_compiler.engines.yunikorn.rules.errors import ConfigRefusedError
from apportion_compiler.engines.yunikorn.rules.limits import ROOT, check_limit_max_applications, check_limit_resources
from apportion_compiler.engines.yunikorn.rules.placement import check_placement_rules
from apportion_compiler.engines.yunikorn.rules.queues import (
    check_max_applications,
    check_queue_resources,
    check_queues,
    root_of,
    with_limits_on_root,
    with_root,
)
from apportion_compiler.engines.yunikorn.rules.queues_yaml_decoder import decode

DEFAULT_PARTITION = "default"
_NODE_SORT_POLICIES = ("fair", "binpacking", "")


def parse_config(text: str) -> tuple[Partition, ...]:
    """Return the partitions of a valid configuration, each with its root queue.

    Raises:
        ConfigRefusedError: With YuniKorn's message if it is invalid.
    """
    try:
        return _validated(partitions_of(decode(text)))
    except RecursionError:
        raise ConfigRefusedError("yaml: exceeded max depth of 10000") from None


def _validated(partitions: tuple[Partition, ...]) -> tuple[Partition, ...]:
    names: set[str] = set()
    validated: list[Partition] = []
    for partition in partitions:
        name = DEFAULT_PARTITION if partition.name.lower() in ("", DEFAULT_PARTITION) else partition.name
        if name.lower() in names:
            raise ConfigRefusedError(f"duplicate partition name found with name {name}", f"{partition.path}.name")
        names.add(name.lower())
        checked = with_limits_on_root(with_root(replace(partition, name=name)))
        root = root_of(checked)
        check_queues(root, 1)
        check_queue_resources(root)
        check_placement_rules(checked)
        check_node_sort_policy(checked)
        check_max_applications(root)
        check_limit_resources(root)
        check_limit_max_applications(root)
        validated.append(checked)
    for root in map(root_of, validated):
        # The checks ignore the case of the name; the scheduler does not (partition.go, initialPartitionFromConfig).
        if root.name != ROOT:
            raise ConfigRefusedError("partition cannot be created without root queue", f"{root.path}.name")
    return tuple(validated)


def check_node_sort_policy(partition: Partition) -> None:
    """Check the order of nodes."""
    path = f"{partition.path}.nodesortpolicy"
    if partition.node_sort_policy not in _NODE_SORT_POLICIES:
        raise ConfigRefusedError(f"undefined policy: {partition.node_sort_policy}", f"{path}.type")
    for resource, weight in (partition.resource_weights or {}).items():
        if weight < 0:
            raise ConfigRefusedError(
                f"negative resource weight for {resource} is not allowed", f"{path}.resourceweights"
            )
