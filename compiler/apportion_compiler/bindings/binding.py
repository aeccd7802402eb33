"""The place of a workload in a queue, and the interface of an engine's `binding` module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from apportion_compiler.backends.partitions import leaf_queue_name
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import Workload
from apportion_compiler.ir.program import NodePool, PriorityClass, Program, ProvisioningPlan, Queue
from apportion_compiler.workload_shapes import Node, PodSet


@dataclass(frozen=True, slots=True)
class Binding:
    """A place in a queue.

    `queue_name` is the queue name that a workload sets, empty if it sets none; `part` is the GPU model of its
    partition, `gpu_model` the requested model. `gang` is the name of the gang, None if the API server generates names.
    """

    program: Program
    queue: Queue
    queue_name: str
    part: str | None
    gpu_model: str | None
    namespace: str
    gang: str | None
    priority_class: PriorityClass | None
    plan: ProvisioningPlan | None


@dataclass(frozen=True, slots=True)
class Selection:
    """Pods of a workload with their node selector.

    Attributes:
        labels: Labels of the selector that distinguish pools.
        pools: The selected pools of the queue.
    """

    program: Program
    queue: Queue
    workload: Workload
    pods: PodSet
    labels: Sequence[tuple[str, str]]
    pools: Sequence[NodePool]


Elastic = Callable[[Node, int, int], None]
"""Sets the minimum and maximum number of workers of a workload."""


def _always(_: Workload) -> bool:
    return True


def _nothing(_: Binding, __: Sequence[Node]) -> Iterator[str]:
    return iter(())


def _nowhere(_: Selection) -> Iterator[Verdict]:
    return iter(())


@dataclass(frozen=True, slots=True)
class EngineBinding:
    """How workloads are bound to queues on one engine.

    Attributes:
        name: The engine.
        workload_queue: The queue name that a workload of a leaf sets, on a cluster without partitions.
        bind: Binds workloads that belong together in place, and returns all objects in apply order.
        share: Sets a fraction of a GPU, in thousandths, in a pod template; None if its queues count whole devices.
        asks_for_nodes: Whether the engine creates the ProvisioningRequest itself.
        elastic: For each kind that can start with fewer workers than its maximum, a function that sets both numbers.
        scales_ray: Whether it admits Ray kinds with autoscaling.
        starts_together: Whether all pods of a workload start together or none does.
        has_gangs: Whether it can gang-schedule the pods of any workload.
        misplaced: Yields workloads that it admits to machines outside their node selector.
        remarks: Yields notes on workloads that run differently than the policy intends.
        unreachable: Yields why it accepts workloads of a queue and never admits them.
        queue_keys: Labels and annotations by which a workload or its pods name their queue; the first one counts.
        queue_fields: Paths of fields of a workload that name the queue.
    """

    name: str
    bind: Callable[[Binding, tuple[Node, ...]], tuple[Node, ...]]
    workload_queue: Callable[[Program, Queue], str | None] = leaf_queue_name
    share: Callable[[Node, int], None] | None = None
    asks_for_nodes: bool = False
    elastic: Mapping[str, Elastic] = field(default_factory=dict[str, Elastic])
    scales_ray: bool = True
    starts_together: Callable[[Workload], bool] = _always
    has_gangs: bool = True
    misplaced: Callable[[Selection], Iterator[Verdict]] = _nowhere
    remarks: Callable[[Binding, Sequence[Node]], Iterator[str]] = _nothing
    unreachable: Callable[[Binding, Sequence[Node]], Iterator[str]] = _nothing
    queue_keys: tuple[str, ...] = ()
    queue_fields: tuple[tuple[str, ...], ...] = ()
