"""A scenario: nodes, workloads with what they do, and what happens to the cluster meanwhile.

Times are seconds from the beginning of the simulation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_runtime.sim.api.clock import DEFAULT_START
from apportion_runtime.sim.provisioning.offers import QueuedPool

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class NodeShape:
    """What the nodes of a pool are like."""

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
    requests.
    """

    name: str
    shape: NodeShape
    size: int
    least: int
    most: int
    scale_up_s: float = 180.0
    idle_s: float = 600.0
    queued: QueuedPool | None = None

    @property
    def scales(self) -> bool:
        """Whether nodes come and go with the pods that wait."""
        return self.queued is None and self.most > self.least


@dataclass(frozen=True, slots=True)
class Scaling:
    """A change of the number of replicas at a time; of a worker group, if one is named."""

    at_s: float
    replicas: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class Demand:
    """From a moment on, what all replicas together are asked for, in the unit of an autoscaler's metric."""

    at_s: float
    total: float


@dataclass(frozen=True, slots=True)
class Work:
    """A workload and what it does.

    Attributes:
        manifest: The workload.
        place: Where it stands in the scenario, for messages; empty where it comes from elsewhere.
        arrives_s: When it is made.
        work_s: How long it has to work with all the pods it wants; None has no end of its own.
        lifetime_s: After how long it is deleted, whatever it does; None never.
        startup_s: How long each pod loads before it works.
        checkpoint_s: How often what was done is kept; 0 keeps everything, None nothing.
        fails: Whether it ends in failure.
        scalings: When it wants another number of replicas.
        cancelled_s: When it is deleted if it has never run by then, in seconds after its arrival.
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
    """What happens to a node, or to an object: fails, drains, joins, deleted, made; or to a queued job: priority."""

    at_s: float
    what: str
    node: str = ""
    object: tuple[str, str, str] = ("", "", "")
    """Kind, namespace and name of what is deleted."""
    makes: tuple[Manifest, ...] = ()
    priority: int | None = None
    """What a queued job gets; None is what puts it first."""


@dataclass(frozen=True, slots=True)
class Timing:
    """How fast the parts of the cluster are.

    `period_s` is the scheduler's; `container_start_s` is from a bind until the containers run; `node_lost_s` is how
    long pods of a node that failed are waited for. `requeue_s` is how long kube-queue waits for the pods of a job that left
    its queue before it goes back there; None for ever.
    """

    period_s: float = 1.0
    container_start_s: float = 2.0
    grace_s: float = 30.0
    node_lost_s: float = 300.0
    requeue_s: float | None = None


@dataclass(frozen=True, slots=True)
class Scenario:
    """Everything that happens, and when it ends; `until_s` None is when nothing more happens."""

    pools: tuple[Pool, ...] = ()
    works: tuple[Work, ...] = ()
    objects: tuple[Manifest, ...] = ()
    incidents: tuple[Incident, ...] = ()
    timing: Timing = field(default_factory=Timing)
    start: float = DEFAULT_START
    until_s: float | None = None
    name: str = ""
