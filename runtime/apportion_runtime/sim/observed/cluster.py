"""A simulated cluster whose initial state is a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apportion_runtime.engines.base.model import Model
from apportion_runtime.sim.api.object_store import last_uid_number
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.observed.resumption import resume
from apportion_runtime.sim.observed.workloads import ObservedWorkload, other_objects
from apportion_runtime.sim.scenario.format import Manifest, Scenario, Work


def observed_cluster(
    objects: Sequence[Manifest],
    workloads: Sequence[ObservedWorkload],
    scenario: Scenario,
    model: Model,
    *,
    admit: Callable[[Manifest], None],
) -> Cluster:
    """Return a cluster whose work is running and pending as observed.

    Args:
        objects: All objects of the cluster; those of its workloads are skipped.
        workloads: Its workloads, from `model.observe`.
        scenario: Nodes in addition to those of the snapshot, whose time is the start.
        model: The engine.
        admit: Raises `ValueError` if a new workload is rejected.

    Raises:
        UnreadableError: If the engine cannot start from the objects.
        ValueError: If a workload cannot be read.
    """
    queued = tuple(Work(_as_new(made)) for made in model.queued(objects))
    begun = Scenario(
        pools=scenario.pools,
        works=(*queued, *scenario.works),
        objects=scenario.objects,
        timing=scenario.timing,
        start=scenario.start,
    )
    # The uids of a simulated snapshot must not be generated again.
    n_made = last_uid_number(objects)
    cluster = Cluster(other_objects(objects), begun, model, keeps_facts=False, admit=admit, n_made=n_made)
    for each in workloads:
        resume(cluster.cluster_state, cluster.workloads, cluster.engine, each)
    return cluster


def _as_new(made: Manifest) -> Manifest:
    return {key: value for key, value in made.items() if key != "status"}
