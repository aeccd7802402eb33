"""The result of a reader: the queues of the IR as far as the engine's objects contain them.

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

    `id` is the label `apportion.dev/queue-id` if the object has it, otherwise the object's name. `guaranteed` and
    `limit` are totals including descendants, regardless of the engine's representation. `labels` are those that are not
    Apportion's own. `pools`, `priority_classes` (names that its workloads may use) and `gpu_sharing` are None if the
    objects do not contain them. `object` is `Kind name`, for messages.
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
    """A tier of workloads. `preemptible` is None if unknown.

    `installed_by_engine` marks classes of the engine's chart.
    """

    name: str
    value: int
    preemptible: bool | None = None
    global_default: bool = False
    description: str | None = None
    installed_by_engine: bool = False


@dataclass(frozen=True, slots=True)
class PoolRecord:
    """A kind of machines that queues reference (a flavor, a shard).

    Placements are `binpack`, `spread`, or None for the cluster's; `topology` is a topology's name and `plan` a
    provisioning plan's. `machine` is the size of one of `n_machines`, if known; otherwise it is empty. `capacity` is
    the total of all of them if only that is known, and `shared` the pool whose capacity includes this one's machines.
    Amounts are in the IR's units.
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
    """Provisioning of capacity as one unit. Fields that are None are unknown; times are in seconds."""

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
    """Settings of the whole cluster. None: its objects do not contain them."""

    gpu_placement: str | None = None
    cpu_placement: str | None = None
    kai: KaiSettings | None = None
    kueue: KueueSettings | None = None
    volcano: VolcanoSettings | None = None
    ack: AckSettings | None = None
    managed_elsewhere: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A note on a field that a policy does not support, or that the reader had to guess.

    `lost` means that the compiled policy does not reproduce a declared field.
    """

    object: str
    text: str
    lost: bool = False


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """The complete result of a reader; parents before children."""

    queues: tuple[QueueRecord, ...]
    priority_classes: tuple[PriorityClassRecord, ...] = ()
    pools: tuple[PoolRecord, ...] = ()
    topologies: tuple[TopologyRecord, ...] = ()
    plans: tuple[PlanRecord, ...] = ()
    notes: tuple[Note, ...] = ()
    cluster: ClusterRecord = ClusterRecord()


@dataclass(frozen=True, slots=True)
class Reader:
    """The import from one engine. `read` ignores objects of other kinds.

    Attributes:
        with_declared: Returns a record with declarations of imported fields that would otherwise be emitted with other
            values, if a policy supports them.
        current_spec: Converts the spec of an object from an older served version to the emitted one.
        is_installed: Whether an object is part of the engine's installation, which a policy emits only to change it.

    Raises of `read`: `ValueError` with one clause that names the object and its field, if a value is invalid.
    """

    name: str
    read: Callable[[Sequence[Manifest]], ImportRecord]
    with_declared: Callable[[ImportRecord, Sequence[Manifest], Sequence[Manifest]], ImportRecord] | None = None
    current_spec: Callable[[Manifest], dict[str, object]] | None = None
    is_installed: Callable[[Manifest], bool] = lambda _: False
