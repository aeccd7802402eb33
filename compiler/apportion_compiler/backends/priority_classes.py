"""PriorityClass (scheduling.k8s.io/v1), which all engines read.

`value` and `preemptionPolicy` are immutable in Kubernetes: to change one, rename the class, or delete and recreate it.
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
"""Prefix of the built-in classes of every cluster, which AP402 does not allow to be declared."""


def classes_to_make(program: Program) -> tuple[PriorityClass, ...]:
    """Return the classes of a program to emit: all except Kubernetes' built-in ones, which a policy may name."""
    return tuple(cls for cls in program.priority_classes if not cls.name.startswith(_KUBERNETES_OWN))


def priority_class(
    program: Program,
    cls: PriorityClass,
    preemption_policy: PreemptionPolicy,
    *,
    annotations: Mapping[str, str] | None = None,
) -> Manifest:
    """Return the manifest of a class with the fields that the API server stores, so that none appears as drift."""
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
