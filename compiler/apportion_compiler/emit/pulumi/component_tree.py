"""The resources of a target: a component for it, nested components for its queues, and the objects in them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import TopologicalSorter

import pulumi

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.compile import Target
from apportion_compiler.emit.pulumi.guard import Guard
from apportion_compiler.emit.pulumi.resource_names import (
    QUEUE_TYPE,
    TARGET_TYPE,
    former_urns,
    import_id,
    queue_name,
    resource_name,
    resource_type,
    target_name,
)
from apportion_compiler.emit.pulumi.resource_options import (
    fields_of_controllers,
    guaranteed_queues,
    holds_guarantee,
    immutable_fields,
    is_importable,
    owned,
)
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.plain_objects import Manifest, labels_of
from apportion_compiler.rollout.identity import Identity, identity_of
from apportion_compiler.rollout.plan import Update


@dataclass(frozen=True, slots=True)
class RegistrationOptions:
    """Options for registering the objects of a stack.

    Attributes:
        guard: The hook that blocks destructive deletions.
        provider: The cluster's provider; None is Pulumi's default one.
        protects: Whether objects that hold a guarantee are protected from deletion.
        retains: Kinds whose objects stay on the cluster when their resources are deleted.
        adopt: Names of resources to import; `*` means all.
        former_depth: Maximum number of queues above an applied object.
    """

    guard: Guard
    provider: pulumi.ProviderResource | None = None
    protects: bool = False
    retains: frozenset[str] = frozenset()
    adopt: frozenset[str] = frozenset()
    former_depth: int = 0


def register_target(
    target: Target, program: Program, update: Update, treatment: RegistrationOptions
) -> list[pulumi.Resource]:
    """Register a target's components and objects, each after its dependencies, and return the objects' resources."""
    top = pulumi.ComponentResource(TARGET_TYPE, target_name(target))
    tree = _Tree(target, program, top)
    objects = {identity_of(manifest): manifest for manifest in update.objects}
    guaranteed = guaranteed_queues(program) if treatment.protects else frozenset[str]()
    made: dict[Identity, pulumi.Resource] = {}
    for key in _in_order(objects, update.waits):
        manifest = objects[key]
        parent, depth = tree.place_of(manifest)
        # Objects without a queue never had a parent component. Objects of a queue that a later update deletes have none
        # now.
        before = set(range(treatment.former_depth + 1)) if QUEUE_ID_LABEL in labels_of(manifest) else set[int]()
        name, type_ = resource_name(target, key), resource_type(manifest)
        is_adopted = bool(treatment.adopt & {"*", name}) and is_importable(manifest)
        options = pulumi.ResourceOptions(
            parent=parent,
            provider=treatment.provider,
            depends_on=[made[other] for other in sorted(update.waits.get(key, ()))],
            protect=holds_guarantee(manifest, guaranteed) if treatment.protects else None,
            retain_on_delete=manifest["kind"] in treatment.retains or None,
            ignore_changes=fields_of_controllers(manifest),
            # Values that the API server defaulted count as changes of an adopted object, and must not replace it.
            replace_on_changes=[] if is_adopted else immutable_fields(manifest),
            # Only one of two objects with the same name can exist.
            delete_before_replace=True,
            aliases=list(former_urns(pulumi.get_stack(), pulumi.get_project(), type_, name, before - {depth})),
            hooks=treatment.guard.binding(manifest),
            import_=import_id(manifest) if is_adopted else None,
        )
        made[key] = pulumi.CustomResource(type_, name, dict(owned(manifest)), options)
    tree.close()
    return list(made.values())


def _in_order(objects: Mapping[Identity, Manifest], waits: Mapping[Identity, frozenset[Identity]]) -> list[Identity]:
    sorter: TopologicalSorter[Identity] = TopologicalSorter()
    for key in objects:
        sorter.add(key, *sorted(waits.get(key, ())))
    return list(sorter.static_order())


class _Tree:
    """The components of a target's queues, created when the first object needs them."""

    def __init__(self, target: Target, program: Program, top: pulumi.ComponentResource) -> None:
        self._target = target
        self._top = top
        self._queues: Mapping[str, Queue] = {queue.id: queue for queue in program.queues}
        self._by_label = {label_value(queue.id): queue.id for queue in program.queues}
        self._components: dict[str, pulumi.ComponentResource] = {}

    def place_of(self, manifest: Manifest) -> tuple[pulumi.ComponentResource, int]:
        """Return the parent component of an object, and the number of queues above it."""
        queue_id = self._by_label.get(labels_of(manifest).get(QUEUE_ID_LABEL, ""))
        if queue_id is None:
            return self._top, 0
        return self._component(queue_id), len(self._queues[queue_id].path)

    def _component(self, queue_id: str) -> pulumi.ComponentResource:
        if queue_id not in self._components:
            parent = self._queues[queue_id].parent
            above = self._top if parent is None else self._component(parent)
            self._components[queue_id] = pulumi.ComponentResource(
                QUEUE_TYPE, queue_name(self._target, queue_id), None, pulumi.ResourceOptions(parent=above)
            )
        return self._components[queue_id]

    def close(self) -> None:
        """Declare that the components are complete."""
        for component in (*reversed(self._components.values()), self._top):
            component.register_outputs({})
