"""A Pulumi resource hook that blocks destructive changes of an object.

`apportion preview` reports them from the plan; the hook also protects against a direct `pulumi up`. Pulumi calls it
before it deletes an object, which includes the replacement of a PriorityClass with a different value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pulumi

from apportion_compiler.emit.pulumi.resource_options import plain
from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.destructive_changes import DestructiveChange, destructive_changes, is_queue
from apportion_compiler.rollout.differences import ObjectChange
from apportion_compiler.rollout.identity import Identity, identity_of

_NAME = "apportion-guard"


class Guard:
    """The destructive changes of an update that are not allowed, by the deleted object.

    The hook is always registered: an object that was created with the hook requires it on deletion, regardless of the
    current settings.
    """

    def __init__(self, changes: Iterable[Sequence[ObjectChange]], allowed: Iterable[str], *, is_on: bool) -> None:
        self._is_on = is_on
        self._found: Mapping[Identity, DestructiveChange] = {
            change.identity: change
            for target in changes
            for change in destructive_changes(target)
            if change.kind not in set(allowed)
        }
        options = pulumi.ResourceHookOptions(on_dry_run=True)
        self._hook = pulumi.ResourceHook(_NAME, self.stop, options)

    def binding(self, manifest: Manifest) -> pulumi.ResourceHookBinding | None:
        """Return the binding of the hook to an object, if its deletion can be destructive."""
        if self._is_on and (is_queue(manifest) or manifest.get("kind") == "PriorityClass"):
            return pulumi.ResourceHookBinding(before_delete=[self._hook])
        return None

    def stop(self, args: pulumi.ResourceHookArgs) -> None:
        """Raise an error if the deletion of the object is destructive."""
        change = self._found.get(identity_of(plain(args.old_inputs or {}))) if self._is_on else None
        if change is not None:
            raise ValueError(f"{change.text}; to permit it, add {change.kind} to `apportion:allow`")
