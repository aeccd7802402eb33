"""Changes of the objects on each cluster: the compilation of the base compared with that of the head."""

from __future__ import annotations

from dataclasses import dataclass

from apportion_compiler.compile import Compilation
from apportion_compiler.emit.tree import RETAINED_KINDS
from apportion_compiler.rollout.differences import ObjectChange, differences


@dataclass(frozen=True, slots=True)
class TargetChanges:
    """The objects of one target that are created, changed or deleted."""

    cluster: str
    backend: str
    changes: tuple[ObjectChange, ...]

    @property
    def deleted(self) -> tuple[ObjectChange, ...]:
        """Objects that are deleted from the cluster, without retained ones, which hold data."""
        return tuple(c for c in self.changes if c.action == "delete" and c.identity.kind not in RETAINED_KINDS)

    @property
    def retained(self) -> tuple[ObjectChange, ...]:
        """Objects that are removed from the policy but stay on the cluster."""
        return tuple(c for c in self.changes if c.action == "delete" and c.identity.kind in RETAINED_KINDS)


def object_changes(base: Compilation, head: Compilation) -> tuple[TargetChanges, ...]:
    """Return the targets with different objects, those of the head first."""
    found: list[TargetChanges] = []
    for target in dict.fromkeys((*head.outputs, *base.outputs)):
        before, after = (c.outputs[target].manifests if target in c.outputs else () for c in (base, head))
        changes = differences(before, after)
        if changes:
            found.append(TargetChanges(target.scope, target.backend, changes))
    return tuple(found)
