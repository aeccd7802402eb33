"""A scenario: nodes, workloads with their behaviour, and events of the cluster.

Times are seconds since the start of the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.kube_queue.queueing import Queueing
from apportion_runtime.sim.api.clock import DEFAULT_START
from apportion_runtime.sim.provisioning.queued_pools import QueuedPool

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeShape:
    """The shape of the nodes of a pool."""

    labels: Mapping[str, str]
    allocatable: Mapping[str, str]
    taints: tuple[Mapping[str, str], ...] = ()

    @property
    def gpus(self) -> int:
        """Devices of each node."""
        return int(self.allocatable.get(GPU_RESOURCE, "0"))


@dataclass(frozen=True, slots=True)
class Pool:
    """Uniform nodes: initially `size`, scaled between `least` and `most` by demand.

    It does not scale if `least` and `most` equal `size`. Nodes of a `queued` pool are only created for provisioning
    requests. `policy_pool` is the policy's pool that they belong to, if there is one.
    """

    name: str
    shape: NodeShape
    size: int
    least: int
    most: int
    scale_up_s: float = 180.0
    idle_s: float = 600.0
    queued: QueuedPool | None = None
    policy_pool: str = ""

    @property
    def scales(self) -> bool:
        """Whether the pool scales with the pending pods."""
        return self.queued is None and self.most > self.least


@dataclass(frozen=True, slots=True)
class Scaling:
    """A change of the number of replicas at a time; of a worker group, if one is named."""

    at_s: float
    replicas: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """The total demand on all replicas from a given time, in the unit of an autoscaler's metric."""

    at_s: float
    total: float


@dataclass(frozen=True, slots=True)
class Work:
    """A workload and its behaviour.

    Attributes:
        manifest: The workload.
        place: Its location in the scenario, for messages; empty if it is from elsewhere.
        arrives_s: The time of its creation.
        work_s: Its duration with all of its pods; None does not end by itself.
        lifetime_s: The time after which it is deleted in any state; None is never.
        startup_s: The startup time of each pod before it works.
        checkpoint_s: The checkpoint interval; 0 keeps all progress, None loses it.
        fails: Whether it fails at its end.
        scalings: Its changes of the number of replicas.
        cancelled_s: The time after which it is deleted if it has never run, in seconds after its arrival.
        demand: The load on its replicas, in order of time; autoscalers follow it.
        saturates: The maximum load of one replica; None is unlimited.
    """

    manifest: Manifest
    place: str = ""
    arrives_s: float = 0.0
    work_s: float | None = None
    lifetime_s: float | None = None
    startup_s: float = 0.0
    checkpoint_s: float | None = None
    fails: bool = False
    scalings: tuple[Scaling, ...] = ()
    cancelled_s: float | None = None
    demand: tuple[Demand, ...] = ()
    saturates: float | None = None


@dataclass(frozen=True, slots=True)
class Incident:
    """An event of a node or object (fails, drains, joins, deleted, made), or of a queued job (priority)."""

    at_s: float
    what: str
    node: str = ""
    object: tuple[str, str, str] = ("", "", "")
    """Kind, namespace and name of the deleted object."""
    makes: tuple[Manifest, ...] = ()
    priority: int | None = None
    """The new priority of a queued job; None moves it to the head."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The speed of the parts of the cluster.

    `period_s` is the period of the scheduler; `container_start_s` is the time from a bind until the containers run;
    `node_lost_s` is the time until the pods of a failed node are deleted. `requeue_s` is the time after which
    kube-queue requeues a dequeued job whose pods did not start; None is never.
    """

    period_s: float = 1.0
    container_start_s: float = 2.0
    grace_s: float = 30.0
    node_lost_s: float = 300.0
    requeue_s: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """The whole scenario, and its end; with `until_s` None, it ends when no event remains.

    `queueing` is the implementation that dequeues jobs on a cluster with an ElasticQuotaTree.
    """

    pools: tuple[Pool, ...] = ()
    works: tuple[Work, ...] = ()
    objects: tuple[Manifest, ...] = ()
    incidents: tuple[Incident, ...] = ()
    timing: Timing = field(default_factory=Timing)
    start: float = DEFAULT_START
    until_s: float | None = None
    name: str = ""
    queueing: Queueing = Queueing.ACK
