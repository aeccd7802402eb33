"""The next update of a stack: the whole change if that is valid, else the first of several updates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL, TOP_QUEUE_LABEL
from apportion_compiler.backends.nodepools import NAME as NODE_POOLS
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.pulumi.applied_objects import AppliedState, AppliedTarget
from apportion_compiler.emit.pulumi.resource_names import scheduler_name, target_name
from apportion_compiler.emit.pulumi.resource_options import owned, plain
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.packaged_scheduler import SchedulerDeployment, scheduler_objects
from apportion_compiler.plain_objects import labels_of
from apportion_compiler.rollout.differences import ObjectChange, differences
from apportion_compiler.rollout.plan import Update, plan_target


@dataclass(frozen=True, slots=True)
class NextUpdate:
    """The objects of each target after the next update, the number of remaining updates, and the depth of the tree."""

    targets: Mapping[Target, Update]
    remaining: int
    depth: int

    def changes_from(self, former: AppliedState) -> list[tuple[ObjectChange, ...]]:
        """Return the changes of this update in each target, including targets that are deleted completely."""
        kept = {target_name(target) for target in self.targets}
        return [
            *(differences(_before(target, former).objects, update.objects) for target, update in self.targets.items()),
            *(plan.changes for plan in _gone(former, kept)),
        ]

    @property
    def applied(self) -> AppliedState:
        """The applied objects after the update."""
        return AppliedState(
            {
                target_name(target): AppliedTarget(update.objects, update.is_settled)
                for target, update in self.targets.items()
            },
            self.depth,
        )


@dataclass(frozen=True, slots=True)
class StackPlan:
    """All updates of a stack: their number, and the resulting changes of each target."""

    n_updates: int
    targets: tuple[TargetPlan, ...]


@dataclass(frozen=True, slots=True)
class TargetPlan:
    """The changes of one target.

    Attributes:
        name: `cluster/target`.
        changes: Every object that is created, changed or deleted.
        queues: The path of each queue, including itself, by the value of an object's label; deleted queues are not
            included.
    """

    name: str
    changes: tuple[ObjectChange, ...]
    queues: Mapping[str, tuple[str, ...]]

    def path_of(self, change: ObjectChange) -> tuple[str, ...]:
        """Return the queues above an object, from the top; empty for cluster-wide objects."""
        labels = labels_of(change.shown)
        label = labels.get(QUEUE_ID_LABEL)
        if label is None:
            return ()
        if label in self.queues:
            return self.queues[label]
        # The objects of a deleted queue record only its top-level ancestor.
        top = labels.get(TOP_QUEUE_LABEL, label)
        return (label,) if top == label else (top, label)


def next_update(compilation: Compilation, former: AppliedState, pools_of: Collection[str] = ()) -> NextUpdate:
    """Return the next update from the applied objects towards a compilation.

    Args:
        compilation: The desired objects.
        former: The applied objects.
        pools_of: Clusters whose node pools the stack manages; pools of other clusters are unchanged.
    """
    plans = {target: _plan(compilation, target, former) for target in _touched(compilation, pools_of)}
    remaining = max((len(plan) - 1 for plan in plans.values()), default=0)
    depth = max((len(queue.path) for program in compilation.programs.values() for queue in program.queues), default=0)
    return NextUpdate({target: plan[0] for target, plan in plans.items()}, remaining, depth)


def plan_stack(
    compilation: Compilation,
    former: AppliedState,
    pools_of: Collection[str] = (),
    schedulers: Mapping[str, SchedulerDeployment] = MappingProxyType({}),
) -> StackPlan:
    """Return the plan of all updates; arguments as for `next_update`, with the clusters of the packaged scheduler."""
    touched = _touched(compilation, pools_of)
    plans = [
        *(
            TargetPlan(
                target_name(target),
                differences(_before(target, former).objects, compilation.outputs[target].manifests),
                {label_value(queue.id): queue.path for queue in compilation.programs[target].queues},
            )
            for target in touched
        ),
        *(_scheduler(scheduler_name(cluster), packaged, former) for cluster, packaged in schedulers.items()),
    ]
    plans += _gone(former, {plan.name for plan in plans})
    # Targets without queues of an engine need no order, and are updated at once.
    n_updates = max((len(_plan(compilation, target, former)) for target in touched), default=0)
    return StackPlan(max(n_updates, int(any(plan.changes for plan in plans))), tuple(plans))


def _scheduler(name: str, packaged: SchedulerDeployment, former: AppliedState) -> TargetPlan:
    before = former.targets.get(name, AppliedTarget())
    # Normalized in the same way as the objects in the state.
    wanted = [plain(owned(manifest)) for manifest in scheduler_objects(packaged)]
    return TargetPlan(name, differences(before.objects, wanted), {})


def _gone(former: AppliedState, kept: Collection[str]) -> list[TargetPlan]:
    """Return the deletion of every applied target that is no longer part of the stack."""
    return [
        TargetPlan(name, differences(before.objects, ()), {})
        for name, before in former.targets.items()
        if name not in kept
    ]


def _touched(compilation: Compilation, pools_of: Collection[str]) -> list[Target]:
    return [t for t in compilation.outputs if t.backend != NODE_POOLS or t.cluster in pools_of]


def _before(target: Target, former: AppliedState) -> AppliedTarget:
    return former.targets.get(target_name(target), AppliedTarget())


def _plan(compilation: Compilation, target: Target, former: AppliedState) -> tuple[Update, ...]:
    before = _before(target, former)
    wanted = compilation.outputs[target].manifests
    return plan_target(target.backend, before.objects, wanted, was_settled=before.is_settled)


def several_updates(remaining: int, environment: str) -> str:
    """Return the message for a change that requires more than one update."""
    return (
        f"the engine rejects this change as a single update, so it requires {remaining + 1} consecutive updates; nothing "
        f"was changed: run `apportion up {environment}` to apply them in order"
    )
