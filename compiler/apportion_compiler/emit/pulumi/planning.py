"""What the next update of a stack holds: all at once where that is valid, else the first of several updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from apportion_compiler.backends.nodepools import NAME as NODE_POOLS
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.pulumi.applied import Applied, AppliedTarget
from apportion_compiler.emit.pulumi.naming import target_name
from apportion_compiler.rollout.plan import Update, plan_target


@dataclass(frozen=True, slots=True)
class NextUpdate:
    """What each target holds after the next update, and how many updates remain after it."""

    targets: Mapping[Target, Update]
    remaining: int

    @property
    def applied(self) -> Applied:
        """What is applied once the update is done."""
        return Applied(
            {
                target_name(target): AppliedTarget(update.objects, update.is_settled)
                for target, update in self.targets.items()
            }
        )


def next_update(compilation: Compilation, former: Applied, pools_of: Collection[str] = ()) -> NextUpdate:
    """Return the next update from what was applied towards a compilation.

    Args:
        compilation: What shall be there.
        former: What was applied.
        pools_of: Clusters whose node pools the stack makes; of others it never touches any.
    """
    remaining = 0
    updates: dict[Target, Update] = {}
    for target, output in compilation.outputs.items():
        if target.backend == NODE_POOLS and target.cluster not in pools_of:
            continue
        before = former.targets.get(target_name(target), AppliedTarget())
        plan = plan_target(target.backend, before.objects, output.manifests, was_settled=before.is_settled)
        updates[target] = plan[0]
        remaining = max(remaining, len(plan) - 1)
    return NextUpdate(updates, remaining)


def several_updates(remaining: int, environment: str) -> str:
    """Return what to say where one update is not enough."""
    return (
        f"this change needs {remaining + 1} updates, each of them valid by itself, because the engine takes no single "
        f"order of it: run `apportion up {environment}`, which runs them one after another; nothing was changed"
    )
