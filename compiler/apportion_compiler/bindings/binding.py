"""What an engine is told of a workload's queue, and what an engine's module offers."""

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

    `queue_name` is what a workload writes for the queue, empty where nothing is written; `part` is the GPU model whose
    part of a divided cluster it is for, `gpu_model` the model that was asked for. `gang` is the name of what starts together, None where the API server makes up a name.
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
        labels: The labels of the selector that tell pools apart.
        pools: The pools of the queue that it selects.
    """

    program: Program
    queue: Queue
    workload: Workload
    pods: PodSet
    labels: Sequence[tuple[str, str]]
    pools: Sequence[NodePool]


Elastic = Callable[[Node, int, int], None]
"""Writes the least and the greatest number of workers into a workload."""


def _always(_: Workload) -> bool:
    return True


def _nothing(_: Binding, __: Sequence[Node]) -> Iterator[str]:
    return iter(())


def _nowhere(_: Selection) -> Iterator[Verdict]:
    return iter(())


@dataclass(frozen=True, slots=True)
class EngineBinding:
    """How one engine is told where a workload belongs.

    Attributes:
        name: The engine.
        workload_queue: The name by which a workload of a leaf names its queue, where the cluster is not divided.
        bind: From workloads that belong together, which it changes, to all objects to apply, in order.
        share: Writes thousandths of one GPU into a pod template; None where its queues count whole devices.
        asks_for_nodes: Whether the engine makes the ProvisioningRequest itself.
        elastic: By the kinds of which it starts fewer workers than the most: writes both numbers into a workload.
        scales_ray: Whether it admits Ray's kinds that change the number of their workers.
        starts_together: Whether all pods of a workload start together or none does.
        has_gangs: Whether it can hold the pods of any workload back until they start together.
        misplaced: Yields what it admits to machines that a node selector does not choose.
        remarks: Yields what a person should hear of workloads that run otherwise than the policy intends.
        unreachable: Yields why it accepts workloads of a queue and never admits them.
        queue_keys: Labels and annotations by which a workload or its pods name their queue; the first one counts.
        queue_fields: Paths of fields of a workload that name it likewise.
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
