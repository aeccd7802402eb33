"""The updates by which `apportion up` applies a change to a cluster, and those that revert it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.backends.metadata import QUEUE_ID_LABEL
from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.tree import RETAINED_KINDS
from apportion_compiler.kubernetes_names import label_value
from apportion_compiler.plain_objects import Manifest, labels_of
from apportion_compiler.rollout.destructive_changes import destructive_changes, is_queue
from apportion_compiler.rollout.differences import ObjectChange, differences
from apportion_compiler.rollout.plan import plan_target
from apportion_review.drains import Drain, drains
from apportion_review.fates.records import EngineFates
from apportion_review.policy_side import PolicySide
from apportion_review.review import Rollout, RolloutStep

_VERBS = {"make": "create", "change": "change", "delete": "delete"}


def rollout_of(
    cluster: str, base: PolicySide, head: PolicySide, fates: EngineFates | None, renamed: Mapping[str, str]
) -> Rollout | None:
    """Return the updates of one cluster, each of them valid on its engine.

    Args:
        cluster: Such as `prod/gpu-1`.
        base: The policy that is applied.
        head: The policy to apply.
        fates: Of the cluster's running work; queues whose work cannot be evicted, and deleted ones, are drained first.
        renamed: The head's name of each renamed queue.

    Returns:
        None if a side does not compile. Without steps if no object of the cluster changes.
    """
    if base.compilation is None or head.compilation is None:
        return None
    before, after = base.compilation, head.compilation
    return Rollout(
        tuple(_steps(cluster, before, after, drains(cluster, base, head, fates, renamed))),
        tuple(_steps(cluster, after, before, ())),
        tuple(_warnings(cluster, before, after)),
    )


def _targets(cluster: str, former: Compilation, wanted: Compilation) -> list[Target]:
    both = dict.fromkeys((*wanted.outputs, *former.outputs))
    return [target for target in both if target.scope == cluster]


def _objects(compilation: Compilation, target: Target) -> Sequence[Manifest]:
    return compilation.outputs[target].manifests if target in compilation.outputs else ()


def _steps(cluster: str, former: Compilation, wanted: Compilation, drained: tuple[Drain, ...]) -> Iterator[RolloutStep]:
    """Yield the updates of all targets: an update of `up` includes the next update of each."""
    by_update: list[list[str]] = []
    deletions: dict[str, int] = {}
    for target in _targets(cluster, former, wanted):
        held = _objects(former, target)
        for number, update in enumerate(plan_target(target.backend, held, _objects(wanted, target))):
            made = differences(held, update.objects)
            actions = [_action(change) for change in made]
            for change in made:
                if change.action == "delete":
                    deletions.setdefault(labels_of(change.shown).get(QUEUE_ID_LABEL, ""), number)
            held = update.objects
            if len(by_update) <= number:
                by_update.append([])
            by_update[number] += actions
    left = list(drained)
    for number, actions in enumerate(by_update):
        # An engine with one object for all queues deletes none of its own.
        due = [each for each in left if not each.is_deleted or deletions.get(label_value(each.queue), 0) <= number]
        if actions:
            yield RolloutStep(tuple(actions), tuple(each.text for each in due))
            left = [each for each in left if each not in due]


def _action(change: ObjectChange) -> str:
    identity = change.identity
    name = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
    if change.action == "delete" and identity.kind in RETAINED_KINDS:
        return f"keep {identity.kind} `{name}` in the cluster, but stop managing it"
    verb = _VERBS[change.action]
    fields = [field.path for field in change.fields]
    if not fields or not is_queue(change.shown):
        return f"{verb} {identity.kind} `{name}`"
    shown = ", ".join(fields[:3]) + (f" and {len(fields) - 3} more" if len(fields) > 3 else "")
    return f"{verb} {identity.kind} `{name}`: {shown}"


def _warnings(cluster: str, former: Compilation, wanted: Compilation) -> Iterator[str]:
    for target in _targets(cluster, former, wanted):
        for change in destructive_changes(differences(_objects(former, target), _objects(wanted, target))):
            yield change.text
