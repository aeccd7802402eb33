"""The expansion of a workload: the objects between it and its pods, and a slot for each required pod."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from apportion_runtime.admission.objects import Manifest, name_of, namespace_of


class Ending(Enum):
    """How a workload ends: each pod by itself, all pods at once, or only when it is deleted."""

    EACH = "each"
    TOGETHER = "together"
    NEVER = "never"


class PodReplacement(Enum):
    """When a lost pod is recreated: immediately, when it is gone (under its old name or another), or never."""

    AT_ONCE = "at once"
    WHEN_GONE = "when gone"
    SAME_NAME = "same name"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Slot:
    """A required pod. `owner` is the kind and the name of its owner among the objects of the workload."""

    key: str
    spec: Mapping[str, Any]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    owner: tuple[str, str] | None
    is_worker: bool = True
    """Whether it contributes to the work rate; a head or launcher only has to be running."""
    comes_last: bool = False
    """Whether it is created only once all others are ready, as a submitter is."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The objects between a workload and its pods, owners first, and the pods.

    Owner references of `children` have no uid, which their creator adds. `status` belongs to the workload's status.
    `at_once` is the number of slots that have a pod at a time; None is all. If the work is `submitted`, it begins once
    all pods, and the submitter if there is one, have been ready at the same time. `last_child` owns that pod.
    """

    slots: tuple[Slot, ...]
    ending: Ending
    replacing: PodReplacement
    children: tuple[dict[str, Any], ...] = ()
    status: Mapping[str, Any] = field(default_factory=dict)
    at_once: int | None = None
    submitted: bool = False
    last_child: dict[str, Any] | None = None


def slot(
    key: str,
    template: Manifest,
    owner: tuple[str, str] | None,
    labels: Mapping[str, str] | None = None,
    *,
    is_worker: bool = True,
) -> Slot:
    """Return a slot for a pod of a template, with replaced labels."""
    metadata = template.get("metadata") or {}
    spec = defaulted(template.get("spec") or {})
    return Slot(
        key=key,
        spec=spec,
        labels={**(metadata.get("labels") or {}), **(labels or {})},
        annotations=metadata.get("annotations") or {},
        owner=owner,
        is_worker=is_worker,
    )


def defaulted(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a pod's spec as the API server stores it: requests default to limits.

    Source: SetDefaults_Pod of pkg/apis/core/v1/defaults.go at v1.36.3.
    """
    for field_name in ("containers", "initContainers"):
        containers = spec.get(field_name) or ()
        if not all(map(_asks_for_its_limits, containers)):
            spec = {**spec, field_name: [_asking_for_its_limits(container) for container in containers]}
    return spec


def _asking_for_its_limits(container: Mapping[str, Any]) -> dict[str, Any]:
    resources = container.get("resources") or {}
    requests = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {**container, "resources": {**resources, "requests": requests}}


def _asks_for_its_limits(container: Mapping[str, Any]) -> bool:
    resources = container.get("resources") or {}
    return (resources.get("limits") or {}).keys() <= (resources.get("requests") or {}).keys()


def child(
    of: tuple[str, str],
    name: str,
    owner: Manifest,
    spec: Mapping[str, Any],
    *,
    labels: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return an object of a version and kind, owned by another; its creator adds the uid of the owner."""
    reference = {
        "apiVersion": owner.get("apiVersion"),
        "kind": owner.get("kind"),
        "name": name_of(owner),
        "controller": True,
    }
    metadata = {"name": name, "namespace": namespace_of(owner), "labels": labels or {}, "ownerReferences": [reference]}
    return {"apiVersion": of[0], "kind": of[1], "metadata": metadata, "spec": spec}
