"""The input of a cycle: plain records of nodes, queues, pod groups and pods at one moment.

Times are seconds; `Snapshot.now` is the moment itself, so that the core needs no clock. Memory is bytes, device memory
MiB, cpu millicores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter

from apportion_runtime.core.pod_constraints import Labels, NodeTerm, PodPreference, PodTerm, Taint, Toleration
from apportion_runtime.core.record_drafts import PodDraft, PodGroupDraft
from apportion_runtime.core.resources import NO_GPUS, GpuRequest
from apportion_runtime.core.status import PENDING


@dataclass(frozen=True, slots=True)
class NumaZone:
    """A NUMA zone of a node: the amounts available to pods and in total, by resource in vector units."""

    id: str
    available: Mapping[str, float]
    allocatable: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NumaTopology:
    """A node's zones, in order of the number their id ends in, and how its kubelet aligns pods to them."""

    policy: str
    scope: str
    zones: tuple[NumaZone, ...]


DeviceKey = tuple[str, str, str]
"""Driver, pool, device."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device of a resource slice, and the classes whose selectors it matches.

    It is available on one node, on the nodes that match one of `nodes`, or on all.
    """

    driver: str
    pool: str
    name: str
    classes: frozenset[str]
    node: str | None = None
    nodes: tuple[NodeTerm, ...] | None = None
    all_nodes: bool = False
    attributes: Mapping[str, object] = field(default_factory=dict)

    @property
    def key(self) -> DeviceKey:
        """The key of the device."""
        return self.driver, self.pool, self.name


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A class of devices; `extended_resource` is the resource name under which pods may request it, if any."""

    name: str
    extended_resource: str = ""


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """Devices of one class that a claim requests.

    `selected` are the devices that match the request's own selectors, None if it has none. The engine allocates
    nothing to a request that is not `exactly`: one with alternatives, or with administrator's access.
    """

    name: str
    device_class: str
    count: int = 1
    all_devices: bool = False
    exactly: bool = True
    selected: frozenset[DeviceKey] | None = None


@dataclass(frozen=True, slots=True)
class Allocation:
    """The devices that a claim holds; `nodes` selects the nodes on which they are available; None is all nodes."""

    devices: tuple[DeviceKey, ...]
    nodes: tuple[NodeTerm, ...] | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A resource claim. `queue` is its queue label; `reserved_for` are the ids of the pods that use it.

    `match_attributes` are constraints: names of requests (none is all), and the attribute whose value must be the same.
    `uid` is the id under which it is counted against the largest node; None is a unique id.
    """

    namespace: str
    name: str
    requests: tuple[DeviceRequest, ...]
    queue: str = ""
    allocation: Allocation | None = None
    reserved_for: tuple[str, ...] = ()
    match_attributes: tuple[tuple[tuple[str, ...], str], ...] = ()
    uid: str | None = None

    @property
    def asks_gpus(self) -> bool:
        """Whether the claim requests a class that the engine counts as GPUs, by its name."""
        return any(request.exactly and "gpu" in request.device_class.lower() for request in self.requests)


@dataclass(frozen=True, slots=True)
class ClaimReference:
    """A pod's reference to a claim: `claim` is None if the claim of a template does not exist yet."""

    name: str
    claim: str | None
    of_template: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A node.

    `gpu_memory` is the MiB of each device from the node's label, None without one. `n_gpus` is the device count from
    the node's label. With `mig_enabled` None, the allocatable resources decide. `dra_gpus` are devices of resource
    slices. `releasing` is being released in addition to the resources of its pods.
    """

    name: str
    allocatable: Mapping[str, float]
    labels: Labels = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    ready: bool = True
    unschedulable: bool = False
    gpu_memory: int | None = None
    gpu_memory_synced: bool = True
    n_gpus: int | None = None
    mig_enabled: bool | None = None
    mig_strategy: str = ""
    dra_gpus: int = 0
    numa: NumaTopology | None = None
    releasing: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class QueueResource:
    """One resource of a queue in vector units: -1 is unlimited, in quota and in limit."""

    quota: float = 0.0
    limit: float = 0.0
    weight: float = 0.0


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue. `usage` is past usage as a fraction of the cluster's capacity, for time-based fairness."""

    name: str
    parent: str | None
    cpu: QueueResource = QueueResource()
    memory: QueueResource = QueueResource()
    gpu: QueueResource = QueueResource()
    priority: int = 100
    created: float = 0.0
    preempt_min_runtime: float | None = None
    reclaim_min_runtime: float | None = None
    usage: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class TopologyConstraint:
    """Which topology level the pods of a group must share (required), or should (preferred)."""

    topology: str
    required: str = ""
    preferred: str = ""


@dataclass(frozen=True, slots=True)
class SubGroup:
    """A part of a pod group: a pod set if it has no children, otherwise a set of parts.

    `min_members` counts pods in a pod set, and direct children in a set of parts; None requires all children.
    """

    name: str
    min_members: int | None = None
    children: tuple[SubGroup, ...] = ()
    constraint: TopologyConstraint | None = None


@dataclass(frozen=True, slots=True)
class Container:
    """The requests of one container, in vector units; `kind` is app, sidecar (restartable init) or init."""

    request: Mapping[str, float]
    kind: str = "app"


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod of a pod group, or of another scheduler if `group` is None.

    `request` is in vector units and holds `pods: 1`; the GPU part of it is `gpu`'s.
    """

    uid: str
    name: str
    namespace: str
    group: str | None
    status: int = PENDING
    node: str | None = None
    sub_group: str = ""
    request: Mapping[str, float] = field(default_factory=dict)
    gpu: GpuRequest = NO_GPUS
    gpu_groups: tuple[str, ...] = ()
    legacy_mig: bool = False
    labels: Labels = field(default_factory=dict)
    created: float = 0.0
    node_selector: Labels = field(default_factory=dict)
    node_affinity: tuple[NodeTerm, ...] | None = None
    affinity: tuple[PodTerm, ...] = ()
    anti_affinity: tuple[PodTerm, ...] = ()
    pod_preferences: tuple[PodPreference, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    host_ports: tuple[tuple[str, str, int], ...] = ()
    nominated_node: str | None = None
    priority_class: str = ""
    priority: int | None = None
    scheduler: str = "kai-scheduler"
    qos_class: str = ""
    claims: tuple[ClaimReference, ...] = ()
    missing_claims: tuple[str, ...] = ()
    """Persistent volume claims of the pod that do not exist."""
    missing_config_maps: tuple[str, ...] = ()
    """Config maps of the pod that do not exist."""
    numa_placement: tuple[tuple[str, Mapping[str, float]], ...] = ()
    """The zones assigned to a running pod, by id, and the amounts in each."""
    containers: tuple[Container, ...] = ()
    """Used only for the alignment to zones; empty means one container with the whole request of the pod."""

    def in_state(self, status: int, node: str | None, gpu_groups: tuple[str, ...], nominated_node: str | None) -> Pod:
        """Return the pod in another state."""
        values = [*_POD_VALUES(self)]
        values[_STATE], values[_GPU_GROUPS], values[_NOMINATED_NODE] = (status, node), gpu_groups, nominated_node
        return _pod_with(values)

    def like(self, uid: str, name: str, labels: Labels) -> Pod:
        """Return another pod with the same template."""
        values = [uid, name, *_POD_VALUES(self)[2:]]
        values[_LABELS] = labels
        return _pod_with(values)

    def of_template(self, uid: str, name: str, labels: Labels, group: str, created: float) -> Pod:
        """Return another pod with the same template, of another group and time."""
        values = [uid, name, *_POD_VALUES(self)[2:]]
        values[_LABELS], values[_GROUP], values[_CREATED_POD] = labels, group, created
        return _pod_with(values)

    def differs_in_state(self, other: Pod) -> bool:
        """Return whether a record is of the same pod, and differs at most in its status, node and shared devices."""
        return bool(_CONSTANT_VALUES(self) == _CONSTANT_VALUES(other))


_POD_FIELDS = [field.name for field in fields(Pod)]
_POD_VALUES = attrgetter(*_POD_FIELDS)
_CONSTANT_VALUES = attrgetter(*(name for name in _POD_FIELDS if name not in ("status", "node", "gpu_groups")))


def _pod_with(values: Iterable[object]) -> Pod:
    """Return a pod with values for all fields, in their order."""
    made: object = PodDraft(values)
    made.__class__ = Pod
    assert isinstance(made, Pod)
    return made


_STATE = slice(_POD_FIELDS.index("status"), _POD_FIELDS.index("node") + 1)
_GPU_GROUPS, _NOMINATED_NODE, _LABELS, _GROUP, _CREATED_POD = map(
    _POD_FIELDS.index, ("gpu_groups", "nominated_node", "labels", "group", "created")
)


@dataclass(frozen=True, slots=True)
class PodGroup:
    """A gang: its queue, its order among others, and its tree of parts."""

    uid: str
    name: str
    namespace: str
    queue: str
    priority: int
    preemptible: bool
    created: float
    root: SubGroup
    last_start: float | None = None
    last_eviction: float | None = None
    preemption_delay: float | None = None
    staleness_grace: float | None = None
    stale_since: float | None = None

    def at(self, last_start: float | None, last_eviction: float | None, stale_since: float | None) -> PodGroup:
        """Return the pod group with other times."""
        values = [*_GROUP_VALUES(self)]
        values[_LAST_START], values[_LAST_EVICTION], values[_STALE_SINCE] = last_start, last_eviction, stale_since
        return _group_with(values)

    def like(self, name: str, namespace: str, created: float) -> PodGroup:
        """Return another pod group with the same specification; its uid is its name."""
        values = [*_GROUP_VALUES(self)]
        values[:3], values[_CREATED] = (name, name, namespace), created
        return _group_with(values)


def _group_with(values: Iterable[object]) -> PodGroup:
    """Return a pod group with values for all fields, in their order."""
    made: object = PodGroupDraft(values)
    made.__class__ = PodGroup
    assert isinstance(made, PodGroup)
    return made


_GROUP_FIELDS = [field.name for field in fields(PodGroup)]
_GROUP_VALUES = attrgetter(*_GROUP_FIELDS)
_LAST_START, _LAST_EVICTION, _STALE_SINCE, _CREATED = map(
    _GROUP_FIELDS.index, ("last_start", "last_eviction", "stale_since", "created")
)


@dataclass(frozen=True, slots=True)
class Topology:
    """Node label keys, widest level first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """The configuration of the scheduler. The defaults are KAI's in production.

    `generators` are the searches for victims, in order; without one, no job is ever evicted for another.
    """

    actions: tuple[str, ...] = ("allocate", "consolidation", "reclaim", "preempt", "stalegangeviction")
    plugins: frozenset[str] = frozenset(
        (
            "predicates", "proportion", "priority", "elastic", "kubeflow", "ray", "nodeavailability", "gpusharingorder",
            "gpupack", "resourcetype", "subgrouporder", "taskorder", "nominatednode", "dynamicresources",
            "nodeplacement", "minruntime", "topology", "podaffinity",
        )
    )  # fmt: skip
    generators: tuple[str, ...] = ("sg-nodelocalgreedy", "sg-multinodegang")
    gpu_placement: str = "binpack"
    cpu_placement: str = "binpack"
    k_value: float = 1.0
    saturation_multiplier: float = 1.0
    reclaim_resolve_method: str = "lca"
    default_preempt_min_runtime: float = 0.0
    default_reclaim_min_runtime: float = 0.0
    max_consolidation_preemptees: int = 16
    use_scheduling_signatures: bool = True
    allow_consolidating_reclaim: bool = True
    staleness_grace: float = 60.0
    queue_depth: Mapping[str, int] = field(default_factory=dict)
    scheduler_name: str = "kai-scheduler"
    default_device_memory: int | None = None
    """Default memory of a device in MiB, if no node declares it; with None, requests by memory count as 0."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A cluster at one moment."""

    nodes: tuple[Node, ...]
    queues: tuple[Queue, ...]
    pod_groups: tuple[PodGroup, ...]
    pods: tuple[Pod, ...]
    topologies: tuple[Topology, ...] = ()
    claims: tuple[Claim, ...] = ()
    devices: tuple[Device, ...] = ()
    device_classes: tuple[DeviceClass, ...] = ()
    now: float = 0.0
