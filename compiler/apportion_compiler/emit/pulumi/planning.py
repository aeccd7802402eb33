"""What the next update of a stack holds: all at once where that is valid, else the first of several updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from apportion_compiler.backends.nodepools import NAME as NODE_POOLS
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.pulumi.applied import Applied, AppliedTarget
from apportion_compiler.emit.pulumi.naming import target_name
from apportion_compiler.rollout.plan import Update, changes, plan_target


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


@dataclass(frozen=True, slots=True)
class StackPlan:
    """All updates of a stack: how many, and for each target how many objects are made, changed and deleted."""

    n_updates: int
    changes: tuple[tuple[str, int, int, int], ...]


def next_update(compilation: Compilation, former: Applied, pools_of: Collection[str] = ()) -> NextUpdate:
    """Return the next update from what was applied towards a compilation.

    Args:
        compilation: What shall be there.
        former: What was applied.
        pools_of: Clusters whose node pools the stack makes; of others it never touches any.
    """
    plans = {target: _plan(compilation, target, former) for target in _touched(compilation, pools_of)}
    remaining = max((len(plan) - 1 for plan in plans.values()), default=0)
    return NextUpdate({target: plan[0] for target, plan in plans.items()}, remaining)


def plan_stack(compilation: Compilation, former: Applied, pools_of: Collection[str] = ()) -> StackPlan:
    """Return the plan of all updates; the arguments are those of `next_update`."""
    touched = _touched(compilation, pools_of)
    n_updates = max((len(_plan(compilation, target, former)) for target in touched), default=0)
    counted = [
        (target_name(target), *changes(_before(target, former).objects, compilation.outputs[target].manifests))
        for target in touched
    ]
    return StackPlan(n_updates, tuple(counted))


def _touched(compilation: Compilation, pools_of: Collection[str]) -> list[Target]:
    return [t for t in compilation.outputs if t.backend != NODE_POOLS or t.cluster in pools_of]


def _before(target: Target, former: Applied) -> AppliedTarget:
    return former.targets.get(target_name(target), AppliedTarget())


def _plan(compilation: Compilation, target: Target, former: Applied) -> tuple[Update, ...]:
    before = _before(target, former)
    wanted = compilation.outputs[target].manifests
    return plan_target(target.backend, before.objects, wanted, was_settled=before.is_settled)


def several_updates(remaining: int, environment: str) -> str:
    """Return what to say where one update is not enough."""
    return (
        f"this change needs {remaining + 1} updates, each of them valid by itself, because the engine takes no single "
        f"order of it: run `apportion up {environment}`, which runs them one after another; nothing was changed"
    )
