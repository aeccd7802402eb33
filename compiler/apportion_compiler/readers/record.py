"""What a reader reads from an engine's objects: the queues of the IR as far as the engine keeps them.

Units are the IR's: cpu in millicores, memory in bytes, gpu in thousandths of a device, weights in thousandths, times in
seconds; resources are `cpu`, `memory`, `gpu`, `gpu/<model>` and others by name. A missing key is *unset*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_compiler.ir.program import UserLimit
from apportion_policy.engine_settings import AckQueue, AckSettings, KaiSettings, KueueSettings, VolcanoSettings
from apportion_policy.kueue_objects import KueueQueue
from apportion_policy.limit_range import LimitRange
from apportion_policy.quantity import Amount

Manifest = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """A queue as an engine's objects describe it, in the policy's terms.

    `id` is the label `apportion.dev/queue-id` where the object carries it, otherwise the object's name. `guaranteed`
    and `limit` are totals of the queue with everything below it, whatever the engine writes. `labels` are those that
    are not Apportion's own. `pools`, `priority_classes` (names that its work may use) and `gpu_sharing` are None where
    the objects say nothing of them. `object` is `Kind name`, for messages.
    """

    id: str
    object: str
    parent: str | None = None
    title: str | None = None
    owner: str | None = None
    namespaces: tuple[str, ...] = ()
    guaranteed: Mapping[str, Amount] = field(default_factory=dict)
    limit: Mapping[str, Amount] = field(default_factory=dict)
    lending_limit: Mapping[str, Amount] = field(default_factory=dict)
    weight: Mapping[str, int] = field(default_factory=dict)
    priority: int | None = None
    preempt_min_runtime: int | None = None
    reclaim_min_runtime: int | None = None
    pools: tuple[str, ...] | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    priority_classes: tuple[str, ...] | None = None
    gpu_sharing: bool | None = None
    users: tuple[UserLimit, ...] = ()
    external_namespaces: tuple[str, ...] = ()
    kueue: KueueQueue | None = None
    default: bool = False
    limit_ranges: tuple[LimitRange, ...] = ()
    ack: AckQueue | None = None


@dataclass(frozen=True, slots=True)
class PriorityClassRecord:
    """A tier of workloads. `preemptible` is None where nothing says it.

    `installed_by_engine` marks those that the engine's own chart makes.
    """

    name: str
    value: int
    preemptible: bool | None = None
    global_default: bool = False
    description: str | None = None
    installed_by_engine: bool = False


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A kind of machines, as far as queues speak of it (a flavor, a shard).

    Placements are `binpack`, `spread`, or None where the cluster's holds; `topology` is a topology's name and `plan` a
    provisioning plan's. `machine` is what one of `n_machines` holds, where objects say how much there is; otherwise it
    is empty. `capacity` is what all of them hold together where no more is known, and `shared` the pool whose capacity
    counts this one's machines too. Amounts are the IR's.
    """

    id: str
    gpu_model: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[tuple[str, str | None, str], ...] = ()
    """Key, value, effect."""
    gpu_placement: str | None = None
    cpu_placement: str | None = None
    topology: str | None = None
    machine: Mapping[str, Amount] = field(default_factory=dict)
    n_machines: int = 1
    capacity: Mapping[str, int] = field(default_factory=dict)
    shared: str | None = None
    plan: str | None = None


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """How capacity is asked for as one unit. What is None, nothing says; times are seconds."""

    id: str
    provisioning_class: str | None
    max_run_duration: int | None = None
    retry_limit: int | None = None
    retry_backoff_base: int | None = None
    retry_backoff_max: int | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopologyRecord:
    """Node label keys, widest level first."""

    name: str
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """What holds of the cluster as a whole. None: its objects do not say it."""

    gpu_placement: str | None = None
    cpu_placement: str | None = None
    kai: KaiSettings | None = None
    kueue: KueueSettings | None = None
    volcano: VolcanoSettings | None = None
    ack: AckSettings | None = None
    managed_elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """Something of an object that a policy has no word for, or that the reader had to guess.

    `lost` says that an object declares something that the policy does not give back.
    """

    object: str
    text: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """Everything that a reader found; parents before children."""

    queues: tuple[QueueRecord, ...]
    priority_classes: tuple[PriorityClassRecord, ...] = ()
    pools: tuple[PoolRecord, ...] = ()
    topologies: tuple[TopologyRecord, ...] = ()
    plans: tuple[PlanRecord, ...] = ()
    notes: tuple[Note, ...] = ()
    cluster: ClusterRecord = ClusterRecord()


@dataclass(frozen=True, slots=True)
class Reader:
    """The way back from one engine. `read` ignores objects of other kinds.

    Attributes:
        with_declared: Returns a record with the fields of the objects that were read which differ in those to which the
            record compiles, where a policy can declare them as they are.
        current_spec: Returns the spec of an object of an older served version in the words of the one that is written.

    Raises of `read`: `ValueError` with one clause that names the object and its field, where a value cannot be read.
    """

    name: str
    read: Callable[[Sequence[Manifest]], ImportRecord]
    with_declared: Callable[[ImportRecord, Sequence[Manifest], Sequence[Manifest]], ImportRecord] | None = None
    current_spec: Callable[[Manifest], dict[str, object]] | None = None
