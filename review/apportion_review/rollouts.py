"""The updates by which `apportion up` applies a change to a cluster, and those that undo it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from apportion_compiler.compile import Compilation, Target
from apportion_compiler.emit.tree import RETAINED_KINDS
from apportion_compiler.plain_objects import Manifest
from apportion_compiler.rollout.differences import ObjectChange, differences
from apportion_compiler.rollout.hazards import hazards, is_queue
from apportion_compiler.rollout.plan import plan_target
from apportion_review.fates.records import EngineFates, Fate
from apportion_review.policy_side import PolicySide
from apportion_review.review import Rollout, RolloutStep

_VERBS = {"make": "create", "change": "change", "delete": "delete"}
_DRAINED = {Fate.STUCK: "that cannot be evicted", Fate.UNKNOWN: "with an unknown fate"}


def rollout_of(cluster: str, base: PolicySide, head: PolicySide, fates: EngineFates | None) -> Rollout | None:
    """Return the updates of one cluster, each of them valid on its engine.

    Args:
        cluster: Such as `prod/gpu-1`.
        base: The policy that is applied.
        head: The policy to apply.
        fates: Of the cluster's running work; queues whose work cannot be evicted are drained first.

    Returns:
        None if a side does not compile. Without steps if no object of the cluster changes.
    """
    if base.compilation is None or head.compilation is None:
        return None
    before, after = base.compilation, head.compilation
    return Rollout(
        tuple(_steps(cluster, before, after, _drains(fates))),
        tuple(_steps(cluster, after, before, ())),
        tuple(_warnings(cluster, before, after)),
    )


def _targets(cluster: str, former: Compilation, wanted: Compilation) -> list[Target]:
    both = dict.fromkeys((*wanted.outputs, *former.outputs))
    return [target for target in both if target.scope == cluster]


def _objects(compilation: Compilation, target: Target) -> Sequence[Manifest]:
    return compilation.outputs[target].manifests if target in compilation.outputs else ()


def _steps(cluster: str, former: Compilation, wanted: Compilation, drains: tuple[str, ...]) -> Iterator[RolloutStep]:
    """Yield the updates of all targets: an update of `up` holds the next update of each."""
    by_update: list[list[str]] = []
    for target in _targets(cluster, former, wanted):
        held = _objects(former, target)
        for number, update in enumerate(plan_target(target.backend, held, _objects(wanted, target))):
            actions = [_action(change) for change in differences(held, update.objects)]
            held = update.objects
            if len(by_update) <= number:
                by_update.append([])
            by_update[number] += actions
    for actions in by_update:
        if actions:
            yield RolloutStep(tuple(actions), drains)
            drains = ()


def _action(change: ObjectChange) -> str:
    identity = change.identity
    name = f"{identity.namespace}/{identity.name}" if identity.namespace else identity.name
    if change.action == "delete" and identity.kind in RETAINED_KINDS:
        return f"keep {identity.kind} `{name}` on the cluster, no longer managed"
    verb = _VERBS[change.action]
    fields = [field.path for field in change.fields]
    if not fields or not is_queue(change.shown):
        return f"{verb} {identity.kind} `{name}`"
    shown = ", ".join(fields[:3]) + (f" and {len(fields) - 3} more fields" if len(fields) > 3 else "")
    return f"{verb} {identity.kind} `{name}`: {shown}"


def _drains(fates: EngineFates | None) -> tuple[str, ...]:
    """Return a sentence for each queue whose running work gets stuck, or has an unknown fate, by the change."""
    found: dict[tuple[Fate, str], int] = {}
    for row in () if fates is None else fates.rows:
        if row.head.fate in _DRAINED and row.base.fate is not row.head.fate:
            key = row.head.fate, row.workload.queue
            found[key] = found.get(key, 0) + 1
    return tuple(
        f"`{queue}`: wait until {n} {'workload' if n == 1 else 'workloads'} {_DRAINED[fate]} "
        f"{'finishes' if n == 1 else 'finish'}"
        for (fate, queue), n in found.items()
    )


def _warnings(cluster: str, former: Compilation, wanted: Compilation) -> Iterator[str]:
    for target in _targets(cluster, former, wanted):
        for hazard in hazards(differences(_objects(former, target), _objects(wanted, target))):
            yield hazard.text
