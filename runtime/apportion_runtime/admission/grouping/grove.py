"""Grove: one pod group for each PodGang, with a part for each of its groups, and for groups that are placed together.

Source: pkg/podgrouper/podgrouper/plugins/grove/grove_grouper.go at d5bc503a.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from apportion_api.kai.names import (
    PREEMPTIBILITIES,
    PREEMPTIBILITY_LABEL,
    PREEMPTION_DELAY_ANNOTATION,
    PREFERRED_LEVEL_ANNOTATION,
    PRIORITY_CLASS_LABEL,
    REQUIRED_LEVEL_ANNOTATION,
    TOPOLOGY_ANNOTATION,
)
from apportion_api.kubernetes.operators import GROVE_GANG_API, GROVE_GANG_LABEL, GROVE_TOPOLOGY_ANNOTATION
from apportion_runtime.admission.grouping.default import Owners, group_by_default, preemption_delay
from apportion_runtime.admission.grouping.grouping import Constraint, Grouping, Part
from apportion_runtime.admission.objects import (
    GroupingError,
    Manifest,
    Objects,
    annotations_of,
    labels_of,
    name_of,
    namespace_of,
    nested,
    text,
    whole,
)

_CONSTRAINT = ("topologyConstraint", "packConstraint")


def group_grove(owner: Manifest, pod: Manifest, owners: Owners, objects: Objects) -> Grouping:
    """Return the pod group of the PodGang that the pod names."""
    name = labels_of(pod).get(GROVE_GANG_LABEL)
    if name is None:
        raise GroupingError(
            f"label for podgang name (key: {GROVE_GANG_LABEL}) not found in pod {namespace_of(pod)}/{name_of(pod)}"
        )
    gang = objects.read(GROVE_GANG_API, "PodGang", namespace_of(pod), name)
    if gang is None:
        raise GroupingError(f"failed to get PodGang {namespace_of(pod)}/{name}")
    said = annotations_of(gang)
    topology = said.get(GROVE_TOPOLOGY_ANNOTATION, said.get(TOPOLOGY_ANNOTATION, ""))
    made = group_by_default(gang, pod, (), objects)
    if (constraint := _constraint(gang, topology, "spec", *_CONSTRAINT)) is not None:
        made = replace(made, constraint=constraint)
    if (named := nested(gang, "spec", "priorityClassName")) is not None:
        made = replace(made, priority_class=str(named))
    made = _with_settings_of(owner, made)
    parents, parent_of = _parents(gang, topology)
    children = nested(gang, "spec", "podgroups") or ()
    parts = [_child(child, number, parent_of, topology) for number, child in enumerate(children)]
    refers = [_pods(child, number, namespace_of(pod)) for number, child in enumerate(children)]
    own = next((part.name for part, pods in zip(parts, refers, strict=True) if name_of(pod) in pods), "")
    made = replace(made, min_members=sum(part.min_members for part in parts))
    return made.with_parts([*parents, *parts], own)


def _with_settings_of(owner: Manifest, made: Grouping) -> Grouping:
    """Return it with the labels and annotations of the PodGang's owner that it lacks, and the settings from them."""
    labels = {**labels_of(owner), **made.labels}
    annotations = {**annotations_of(owner), **made.annotations}
    preemptibility = labels.get(PREEMPTIBILITY_LABEL, made.preemptibility)
    if preemptibility and preemptibility not in PREEMPTIBILITIES:
        raise GroupingError(
            f"failed to parse preemptibility from top owner {made.namespace}/{made.name}: "
            f"invalid preemptibility value: {preemptibility}"
        )
    delay = preemption_delay(annotations.get(PREEMPTION_DELAY_ANNOTATION, ""))
    before = made.constraint or Constraint("")
    constraint = Constraint(
        before.topology or annotations.get(TOPOLOGY_ANNOTATION, ""),
        before.required or annotations.get(REQUIRED_LEVEL_ANNOTATION, ""),
        before.preferred or annotations.get(PREFERRED_LEVEL_ANNOTATION, ""),
    )
    return replace(
        made,
        labels=labels,
        annotations=annotations,
        priority_class=labels.get(PRIORITY_CLASS_LABEL, made.priority_class),
        preemptibility=preemptibility,
        preemption_delay=made.preemption_delay if delay is None else delay,
        constraint=constraint,
    )


def _parents(gang: Manifest, topology: str) -> tuple[list[Part], dict[str, str]]:
    """Return the parent parts of the groups, and the name of each group's parent part by the group's name."""
    parts: list[Part] = []
    parent_of: dict[str, str] = {}
    for number, config in enumerate(nested(gang, "spec", "topologyConstraintGroupConfigs") or ()):
        name = _named(config, f"topologyConstraintGroupConfig[{number}]")
        groups: Sequence[str] = nested(config, "podGroupNames") or ()
        if groups:
            parent_of.update((group, name) for group in groups)
            parts.append(Part(name, min_parts=len(groups), constraint=_constraint(config, topology, *_CONSTRAINT)))
    return parts, parent_of


def _child(child: Manifest, number: int, parent_of: Mapping[str, str], topology: str) -> Part:
    where = f"spec.podgroups[{number}]"
    name = _named(child, where)
    least = whole(child, "minReplicas")
    if least is None:
        raise GroupingError(f"failed to parse {where}: missing required 'minReplicas' field")
    if least <= 0:
        raise GroupingError(f"failed to parse {where}: invalid 'minReplicas' field. Must be greater than 0")
    return Part(name, least, parent=parent_of.get(name, ""), constraint=_constraint(child, topology, *_CONSTRAINT))


def _pods(child: Manifest, number: int, namespace: str) -> frozenset[str]:
    references: Sequence[Mapping[str, Any]] | None = nested(child, "podReferences")
    if references is None:
        raise GroupingError(f"failed to parse spec.podgroups[{number}]: missing required 'podReferences' field")
    for reference in references:
        if text(reference, "namespace") != namespace:
            raise GroupingError(
                f"cross-namespace pod reference not allowed: pod {text(reference, 'namespace')}/"
                f"{text(reference, 'name')} cannot be referenced from PodGang in namespace {namespace}"
            )
    return frozenset(text(reference, "name") for reference in references)


def _named(made: Manifest, where: str) -> str:
    name = nested(made, "name")
    if name is None:
        raise GroupingError(f"failed to parse {where}: missing required 'name' field")
    return str(name)


def _constraint(made: Manifest, topology: str, *path: str) -> Constraint | None:
    required, preferred = nested(made, *path, "required"), nested(made, *path, "preferred")
    if required is None and preferred is None:
        return None
    if not topology:
        raise GroupingError("topology name cannot be empty when topology constraints are defined")
    return Constraint(topology, str(required or ""), str(preferred or ""))
