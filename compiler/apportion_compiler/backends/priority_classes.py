"""PriorityClass (scheduling.k8s.io/v1), which all engines read.

`value` and `preemptionPolicy` are immutable in Kubernetes: to change one, give the class another name, or delete
and create it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from apportion_api.kubernetes.names import PRIORITY_CLASS_API
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.metadata import metadata
from apportion_compiler.ir.program import PriorityClass, Program
from apportion_compiler.kubernetes_names import object_name

PreemptionPolicy = Literal["PreemptLowerPriority", "Never"]

_KUBERNETES_OWN = "system-"
"""Such names stand for the classes that every cluster has from the start: AP402 refuses to declare them."""


def classes_to_make(program: Program) -> tuple[PriorityClass, ...]:
    """Return the classes of a program without Kubernetes' own, which a policy may name and nobody writes."""
    return tuple(cls for cls in program.priority_classes if not cls.name.startswith(_KUBERNETES_OWN))


def priority_class(
    program: Program,
    cls: PriorityClass,
    preemption_policy: PreemptionPolicy,
    *,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """Return the manifest of a class, with the fields that the API server would store, so that none shows as drift."""
    manifest: Manifest = {
        "apiVersion": PRIORITY_CLASS_API,
        "kind": "PriorityClass",
        "metadata": metadata(program, object_name(cls.name), cls.source, annotations=annotations),
        "value": cls.value,
        "preemptionPolicy": preemption_policy,
    }
    if cls.global_default:
        # The API server does not store false.
        manifest["globalDefault"] = True
    if cls.description:
        manifest["description"] = cls.description
    return manifest
