"""A hook of the engine that stops hurtful changes at the object they are about to be made to.

`apportion preview` says them from the plan; the hook holds whoever runs `pulumi up` past it. The engine calls it before
it deletes an object, and Kubernetes has a PriorityClass of another number deleted and made anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pulumi

from apportion_compiler.emit.pulumi.resource_options import plain
from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.differences import ObjectChange
from apportion_compiler.rollout.hazards import Hazard, hazards, is_queue
from apportion_compiler.rollout.identity import Identity, identity_of

_NAME = "apportion-guard"


class Guard:
    """The hazards of one update that nobody allowed, by the object that goes.

    The hook is registered in any case: an object that was bound to it when it was written asks for it when it goes,
    whatever the stack says by then.
    """

    def __init__(self, changes: Iterable[Sequence[ObjectChange]], allowed: Iterable[str], *, is_on: bool) -> None:
        self._is_on = is_on
        self._found: Mapping[Identity, Hazard] = {
            hazard.identity: hazard
            for target in changes
            for hazard in hazards(target)
            if hazard.kind not in set(allowed)
        }
        options = pulumi.ResourceHookOptions(on_dry_run=True)
        self._hook = pulumi.ResourceHook(_NAME, self.stop, options)

    def binding(self, manifest: Manifest) -> pulumi.ResourceHookBinding | None:
        """Return what binds the hook to an object, where its deletion can be hurtful."""
        if self._is_on and (is_queue(manifest) or manifest.get("kind") == "PriorityClass"):
            return pulumi.ResourceHookBinding(before_delete=[self._hook])
        return None

    def stop(self, args: pulumi.ResourceHookArgs) -> None:
        """Raise if the object that is about to be deleted is one whose deletion is hurtful."""
        hazard = self._found.get(identity_of(plain(args.old_inputs or {}))) if self._is_on else None
        if hazard is not None:
            raise ValueError(f"{hazard.text}; to permit it, add {hazard.kind} to `apportion:allow`")
