"""The part of a cluster that a scheduler writes: pods, pod groups and queues of its shard.

Objects belong to a shard by the label of its node pool, and those without the label to the shard without a partition.
Other shards have schedulers of their own, which write the rest.
"""

from __future__ import annotations

from apportion_runtime.kube.cluster import Cluster
from apportion_runtime.kube.errors import MissingShard
from apportion_runtime.kube.resources import SHARD
from apportion_runtime.snapshots.document_loader import LocatedObject
from apportion_runtime.snapshots.faults import ObjectLocation
from apportion_runtime.snapshots.kubernetes.configuration import Engine, configured
from apportion_runtime.snapshots.kubernetes.objects import objects_by_kind

_KINDS = (SHARD, "Config")


def shard_engine(cluster: Cluster, shard: str | None) -> Engine:
    """Return the configuration of a shard, which identifies its objects; None is the shard without a partition.

    Raises:
        MissingShard: If the given shard does not exist.
    """
    nowhere = ObjectLocation(0, 0)
    found = [LocatedObject(dict(one), nowhere) for one in cluster.objects(*_KINDS)]
    try:
        # The cycle reports the faults of these objects.
        return configured(objects_by_kind(found, []), shard, [])
    except KeyError:
        raise MissingShard(f"the SchedulingShard {shard} does not exist") from None
