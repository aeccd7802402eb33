"""Where an engine reads the queue, class and scheduler of a workload: the table from which the policies are generated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from apportion_compiler.backends.admission.workloads import Workload


@dataclass(frozen=True, slots=True)
class SchedulingUnit:
    """The object of an engine that finally determines the queue of a group of pods.

    An engine's controller makes it from labels of pods and of their owners. A user who forges an owner must still get
    this object past the policy. Paths are relative to `spec`.
    """

    group: str
    resource: str
    kind: str
    queue: str
    priority_class: str
    preemptibility: str | None
    """None if it is in labels and annotations, as on a pod."""
    must_say: bool = True
    """Whether the classes of `EngineTable.must_say` require it here too, not only on pods."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement on a workload at creation, in addition to its queue and class.

    Attributes:
        workload: The shape of workloads that it applies to, by its name in `workloads.py`.
        expression: CEL over `object` and `request`, true for valid objects.
        message: The message if the expression is false.
    """

    workload: str
    expression: str
    message: str


@dataclass(frozen=True, slots=True)
class EngineTable:
    """Where an engine reads the fields of workloads.

    Attributes:
        scheduler_name: Required `schedulerName` of pods.
        queue_label: Label with the queue; None if there is none.
        shared_queue: The only queue name allowed to workloads outside the policy's namespaces.
        class_labels: Labels that name a priority class instead of the pod's field.
        preemptibility_label: Label whose values are `preemptible` and `non-preemptible`; None if the engine has none.
        sharing_annotations: Annotations by which a pod requests a fraction of a GPU.
        default_class: Class that the engine assigns to workloads without one; None if it assigns none.
        default_class_of: Exceptions to `default_class`, by the name of a workload shape in `workloads.py`.
        preemptible: For each priority class of the policy, whether its workloads may be evicted.
        must_say: Classes whose workloads need the preemptibility label, because the engine's default differs.
        system_namespaces: Namespaces of the engine itself.
        unit: The engine's scheduling unit, if it has one.
        more_queue_labels: Further labels that name the queue.
        queue_annotations: Annotations of workloads and their pods that name the queue.
        queue_required: Whether workloads must name their queue; otherwise the namespace determines it, and workloads
            may repeat it.
        preemptible_words: The values of the preemptibility label.
        forbidden_resources: Prefixes of resource names that workloads must not request, because no quota counts them.
        requirements: Further requirements on workloads.
        preemptibility_annotation: Annotation equivalent to the preemptibility label, with precedence over it.
        queue_fields: For shapes of workloads, by name, the path below `spec` of a field that names the queue.
        class_fields: The same for the priority class.
        more_workloads: Workload shapes specific to the engine.
        more_schedulers: Further allowed values of `schedulerName`.
    """

    scheduler_name: str
    preemptible: Mapping[str, bool]
    queue_label: str | None = None
    shared_queue: str | None = None
    class_labels: tuple[str, ...] = ()
    preemptibility_label: str | None = None
    sharing_annotations: tuple[str, ...] = ()
    default_class: str | None = None
    default_class_of: Mapping[str, str] = field(default_factory=dict[str, str])
    must_say: tuple[str, ...] = ()
    system_namespaces: tuple[str, ...] = ()
    unit: SchedulingUnit | None = None
    more_queue_labels: tuple[str, ...] = ()
    queue_annotations: tuple[str, ...] = ()
    queue_required: bool = True
    preemptible_words: tuple[str, str] = ("preemptible", "non-preemptible")
    forbidden_resources: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    more_schedulers: tuple[str, ...] = ()
    preemptibility_annotation: str | None = None
    queue_fields: Mapping[str, str] = field(default_factory=dict)
    class_fields: Mapping[str, str] = field(default_factory=dict)
    more_workloads: tuple[Workload, ...] = ()
