"""The SchedulingShard of a workload: KAI assigns pods to a scheduler by the label of their node pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apportion_api.kai.names import NODE_POOL_LABEL
from apportion_api.kai.objects import SchedulingShard
from apportion_api.objects import read_all
from apportion_cli.errors import PreconditionError
from apportion_compiler.alternatives import alternatives
from apportion_compiler.plain_objects import labels_of, name_of
from apportion_compiler.workload_shapes import pod_sets


def shard_of(workload: Mapping[str, object], objects: Sequence[Mapping[str, object]], given: str | None) -> str | None:
    """Return the name of the shard that schedules a workload; None on a cluster without shards.

    Args:
        workload: The workload with the labels of its queue.
        objects: Objects with the cluster's shards; of two shards with one partition, the later counts.
        given: The shard on the command line.

    Raises:
        PreconditionError: If there is no such shard, or the workload belongs to another one than the given.
    """
    shards = {shard.partition: shard.name for shard in read_all(SchedulingShard, objects)}
    if given is not None and given not in shards.values():
        raise PreconditionError(f"shard {given} does not exist; {alternatives(sorted(shards.values()))}")
    if not shards:
        return None
    label = _partition(workload)
    shard = shards.get(label)
    what = f"{workload.get('kind')} {name_of(workload)}"
    written = f"label {NODE_POOL_LABEL}: {label}" if label else f"no label {NODE_POOL_LABEL}"
    if shard is None:
        raise PreconditionError(
            f"{what} has {written}, but no shard schedules such workloads; {alternatives(sorted(shards.values()))}"
        )
    if given not in (None, shard):
        raise PreconditionError(
            f"{what} has {written}, so shard {shard} schedules it, not {given}",
            hint="omit --shard, or choose the GPU model with --gpu-model",
        )
    return shard


def _partition(workload: Mapping[str, object]) -> str:
    nodes = [*(each.template for each in pod_sets(workload)), workload]
    return next((labels_of(node)[NODE_POOL_LABEL] for node in nodes if labels_of(node).get(NODE_POOL_LABEL)), "")
