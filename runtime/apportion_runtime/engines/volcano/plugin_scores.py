"""The scores of nodes for a pod, summed over the plugins of the configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from apportion_api.volcano.configuration import SchedulerConfiguration
from apportion_runtime.engines.kube_scheduler.nodes import Nodes, NodeState
from apportion_runtime.engines.kube_scheduler.profiles import MOST, Profile
from apportion_runtime.engines.kube_scheduler.scores import fit_score, scores
from apportion_runtime.engines.volcano.jobs import Task
from apportion_runtime.engines.volcano.node_groups import NodeGroups
from apportion_runtime.engines.volcano.node_scores import binpack_score, strategy_score


def plugin_scores(
    task: Task,
    nodes: Sequence[NodeState],
    seen: Sequence[NodeState],
    *,
    configuration: SchedulerConfiguration,
    profile: Profile,
    groups: NodeGroups | None,
    all_nodes: Nodes,
) -> dict[str, float]:
    """Return the score of each node by name.

    Args:
        task: The pod.
        nodes: The nodes.
        seen: The same nodes as nodeorder sees them.
        configuration: The plugins.
        profile: kube-scheduler's plugins, as nodeorder uses them.
        groups: The node groups; None without the plugin.
        all_nodes: All nodes of the cluster.
    """
    total = dict.fromkeys((node.name for node in nodes), 0.0)
    for plugin in configuration.plugins:
        if plugin.name == "nodeorder":
            for node, score in zip(seen, scores(task.pod, profile, seen, all_nodes), strict=True):
                total[node.name] += score
            if most := int(plugin.arguments.get("mostrequested.weight") or 0):
                packed = replace(profile, strategy=MOST)
                for node in seen:
                    total[node.name] += most * fit_score(task.pod, node, packed)
        elif plugin.name == "resource-strategy-fit":
            for node in nodes:
                total[node.name] += strategy_score(task.request, node, plugin.arguments)
        elif plugin.name == "nodegroup" and groups is not None:
            for node in nodes:
                total[node.name] += groups.score(task.queue, node.record.labels)
        elif plugin.name == "binpack":
            for node in nodes:
                total[node.name] += binpack_score(task.request, node, plugin.arguments)
    return total
