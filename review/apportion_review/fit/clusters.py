"""The cluster to which a workload is submitted: a snapshot under a policy, or the policy's own pools, idle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from apportion_compiler.engine_rules.pod_admission import admit
from apportion_compiler.ir.program import Program
from apportion_compiler.plain_objects import Manifest, name_of
from apportion_policy.policy import Policy
from apportion_review.fates.cluster_objects import objects_under
from apportion_runtime.engines.base.model import Model
from apportion_runtime.sim.cluster import Cluster
from apportion_runtime.sim.observed.cluster import observed_cluster
from apportion_runtime.sim.observed.workloads import ObservedWorkload
from apportion_runtime.sim.provisioning.queued_pools import QueuedPool
from apportion_runtime.sim.scenario.format import NodeShape, Pool, Scenario

_EPOCH = 0.0


@dataclass(frozen=True, slots=True)
class CompiledCluster:
    """One cluster of a policy.

    Attributes:
        program: Its program.
        objects: Its compiled objects, including configuration files.
        shapes: Node template of each pool, with the labels that its engine selects by.
    """

    program: Program
    objects: Sequence[Manifest]
    shapes: Mapping[str, NodeShape]


Compile = Callable[[Policy], CompiledCluster | None]
"""Compiles the cluster under a policy; None if the policy has errors."""


@dataclass(frozen=True)
class ObservedCluster:
    """The cluster to which a workload is submitted.

    Attributes:
        compiled: The compiled cluster.
        model: The model of its engine.
        snapshot: All objects of the cluster; None if it is assumed to be idle.
        beside: Objects of the workload's file that are not workloads.
        now: Time of the snapshot, in seconds since the epoch.
        replaced: Kind, namespace and name of the pending workload that is replaced by the submitted one.
        shard: SchedulingShard of the decision; the snapshot's other ones are left out. None if there are none.
    """

    compiled: CompiledCluster
    model: Model
    snapshot: Sequence[Manifest] | None
    beside: Sequence[Manifest] = ()
    now: float = _EPOCH
    replaced: tuple[str, str, str] | None = None
    shard: str | None = None

    def workloads(self) -> list[ObservedWorkload]:
        """Return the workloads of the snapshot."""
        return self._workloads

    @cached_property
    def _workloads(self) -> list[ObservedWorkload]:
        if self.snapshot is None:
            return []
        return [
            each
            for each in self.model.observe(self.snapshot)
            if self.replaced is None or (each.owner.kind, each.owner.namespace, each.owner.name) != self.replaced
        ]

    def build(
        self, compiled: CompiledCluster | None = None, *, nodes: Sequence[Manifest] = (), with_ends: bool = False
    ) -> Cluster:
        """Return the cluster, under another policy if one is given.

        Args:
            compiled: The cluster under the other policy.
            nodes: Nodes in addition to those of the snapshot.
            with_ends: Whether running workloads end at their deadlines.

        Raises:
            UnreadableError: If the engine cannot start from the objects.
            ValueError: If an object of the snapshot cannot be read.
        """
        under = self.compiled if compiled is None else compiled
        work = self.workloads()
        if not with_ends:
            work = [replace(each, ends=None) for each in work]
        former = self.compiled.objects if compiled is not None else ()
        objects = [*self.beside, *objects_under([*self._known(), *nodes], former, under.objects)]
        name = self.model.name
        return observed_cluster(objects, work, self._scenario(under), self.model, admit=lambda made: admit(name, made))

    def _known(self) -> Sequence[Manifest]:
        if self.snapshot is None:
            return ()
        return [each for each in of_shard(self.snapshot, self.shard) if _identity(each) != self.replaced]

    def _scenario(self, compiled: CompiledCluster) -> Scenario:
        # Nodes of a provisioning plan are requested for whole workloads, and the provider's capacity is unknown, so
        # none are offered.
        queued = [pool for pool in compiled.program.pools if pool.plan is not None]
        pools = [Pool(p.id, compiled.shapes[p.id], 0, 0, p.max_nodes, queued=QueuedPool()) for p in queued]
        if self.snapshot is None:
            plain = [pool for pool in compiled.program.pools if pool.plan is None]
            pools += [Pool(p.id, compiled.shapes[p.id], p.max_nodes, p.max_nodes, p.max_nodes) for p in plain]
        return Scenario(start=self.now, pools=tuple(pools))


def of_shard(objects: Sequence[Manifest], shard: str | None) -> Sequence[Manifest]:
    """Return objects without the SchedulingShards other than the given one; all of them if it is None."""
    if shard is None:
        return objects
    return [made for made in objects if made.get("kind") != "SchedulingShard" or name_of(made) == shard]


def _identity(made: Manifest) -> tuple[str, str, str]:
    metadata = made.get("metadata")
    held: Mapping[str, object] = metadata if isinstance(metadata, Mapping) else {}
    return str(made.get("kind")), str(held.get("namespace") or ""), str(held.get("name") or "")
