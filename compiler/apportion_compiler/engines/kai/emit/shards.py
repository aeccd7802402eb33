"""SchedulingShard: partitions of a cluster, each with a separate KAI scheduler.

KAI counts the GPUs of a queue regardless of their model. If quotas distinguish models, the nodes of each model become a
shard, and each queue gets a Queue object in every shard whose pools it may use. Nodes, queues and pod groups belong to
the shard that their label `kai.scheduler/node-pool` names; without the label, to the default shard
(docs/operator/scheduling-shards.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from apportion_api.kai.names import DEFAULT_SHARD, SHARD_API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.backends.partitions import Partition, QueueNames, partitions_of, queue_names
from apportion_compiler.engines.kai.emit.numbers import weight_number
from apportion_compiler.ir.program import Program
from apportion_compiler.kubernetes_names import object_name
from apportion_policy.duration import duration_text
from apportion_policy.quantity import parse_weight

_CHART_PLACEMENT = "binpack"


@dataclass(frozen=True, slots=True)
class Shard:
    """A partition of the cluster with a separate scheduler. `model` is None for the default shard."""

    model: str | None
    pools: tuple[str, ...]
    queue_names: QueueNames
    gpu_placement: str
    cpu_placement: str

    @property
    def name(self) -> str:
        """The object's name. It becomes part of a Service's name, which must not contain dots."""
        return DEFAULT_SHARD if self.model is None else object_name(self.model.replace(".", "-"))


def shards_of(program: Program) -> tuple[Shard, ...]:
    """Return the default shard, then one for each GPU model with a separate quota."""
    partitions = partitions_of(program)
    return tuple(
        _shard(program, partition, names)
        for partition, names in zip(partitions, queue_names(program, partitions), strict=True)
    )


def _shard(program: Program, partition: Partition, names: QueueNames) -> Shard:
    """Return a shard. Its placement is that of its pools if they agree, otherwise the cluster's."""
    placements = {(pool.gpu_placement, pool.cpu_placement) for pool in partition.pools}
    gpu, cpu = placements.pop() if len(placements) == 1 else (program.gpu_placement, program.cpu_placement)
    return Shard(partition.model, tuple(pool.id for pool in partition.pools), names, gpu, cpu)


def emitted_shards(program: Program, shards: Sequence[Shard]) -> tuple[Shard, ...]:
    """Return the shards to emit: none if the default shard of KAI's chart has the required settings."""
    only = shards[0]
    chart_will_do = (
        len(shards) == 1
        and (only.gpu_placement, only.cpu_placement) == (_CHART_PLACEMENT, _CHART_PLACEMENT)
        and not _settings(program)
    )
    return () if chart_will_do else tuple(shards)


def scheduling_shard(program: Program, shard: Shard) -> Manifest:
    """Return the manifest of a shard."""
    return {
        "apiVersion": SHARD_API,
        "kind": "SchedulingShard",
        "metadata": metadata(program, shard.name, program.source),
        "spec": {
            "partitionLabelValue": shard.model or "",
            "placementStrategy": {"gpu": shard.gpu_placement, "cpu": shard.cpu_placement},
            **_settings(program),
        },
    }


def _settings(program: Program) -> dict[str, object]:
    """Return the fields in which the policy differs from KAI's defaults."""
    kai = program.kai
    fields: dict[str, object] = {}
    arguments: dict[str, str] = {}
    if not kai.full_hierarchy_fairness:
        arguments["full-hierarchy-fairness"] = "false"
    if kai.max_consolidation_preemptees is not None:
        arguments["max-consolidation-preemptees"] = str(kai.max_consolidation_preemptees)
    if arguments:
        fields["args"] = arguments
    if kai.k_value is not None:
        fields["kValue"] = weight_number(parse_weight(kai.k_value))
    runtimes = {
        name: duration_text(seconds)
        for name, seconds in (
            ("preemptMinRuntime", kai.preempt_min_runtime),
            ("reclaimMinRuntime", kai.reclaim_min_runtime),
        )
        if seconds is not None
    }
    if runtimes:
        fields["minRuntime"] = runtimes
    if kai.queue_depth_per_action:
        fields["queueDepthPerAction"] = dict(kai.queue_depth_per_action)
    return fields
