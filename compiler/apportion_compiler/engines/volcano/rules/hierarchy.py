"""The webhook's rules on queues in relation to their parents, siblings and children.

It evaluates a queue on creation, and when its parent or its amounts change; existing faults are accepted until then.
The rules evaluate the state after all manifests are applied, so an excessive sum is one fault regardless of the order.

Source: pkg/webhooks/admission/queues/validate/validate_queue.go at ed72c7c81.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.volcano.names import ROOT_QUEUE
from apportion_api.volcano.objects import Queue
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engines.volcano.emit.bounds import MAX_DEPTH
from apportion_compiler.engines.volcano.emit.resource_lists import Counts, short_of, total
from apportion_compiler.engines.volcano.rules.queue_tree import (
    QueueTree,
    capability,
    deserved,
    guarantee,
    has_pods,
    is_below_queue,
)
from apportion_compiler.engines.volcano.rules.queues import LISTS, rejected, resource_list, same_amounts
from apportion_policy.quantity import cpu_text, memory_text
from apportion_policy.resources import CPU, MEMORY

_SUMS = (("guarantee", "guarantee.resource", guarantee), ("deserved", "deserved", deserved))


def hierarchy_verdicts(queues: Sequence[tuple[int, Queue]], tree: QueueTree) -> Iterator[Verdict]:
    """Yield verdicts on the relations between the applied queues and all others."""
    evaluated: dict[str, int] = {}
    for index, queue in queues:
        name = queue.name
        before = tree.before.get(name)
        moved = before is None or before.parent != queue.parent
        valid = True
        if moved and is_below_queue(queue):
            for verdict in _place(index, queue, tree):
                valid = False
                yield verdict
        if valid and name != ROOT_QUEUE and (moved or _amounts_changed(queue, before)):
            evaluated[name] = index
            yield from _capability(index, queue, tree)
    yield from _sums(evaluated, tree)


def refused_deletion(name: str, tree: QueueTree) -> str | None:
    """Return the reason why a queue of a tree cannot be deleted; None if it can."""
    if name in (ROOT_QUEUE, "default"):
        return f"`{name}` queue can not be deleted"
    children = tree.children.get(name, ())
    if children:
        return f"queue {name} can not be deleted because it has {len(children)} child queues: {', '.join(children)}"
    return None


def _amounts_changed(queue: Queue, before: Queue | None) -> bool:
    return before is None or not all(
        same_amounts(resource_list(queue, field), resource_list(before, field)) for field in LISTS
    )


def _place(index: int, queue: Queue, tree: QueueTree) -> Iterator[Verdict]:
    name, parent = queue.name, queue.parent
    assert parent is not None
    if parent == name:
        yield rejected(index, "spec.parent", f"queue {name} cannot use itself as parent", "use another queue")
        return
    depth, above, seen = 1, parent, {name}
    while above != ROOT_QUEUE:
        depth += 1
        if depth > MAX_DEPTH or above in seen:
            yield rejected(
                index,
                "spec.parent",
                f"queue {name} exceeds the maximum allowed depth of {MAX_DEPTH}",
                "move the queue higher in the tree",
            )
            return
        seen.add(above)
        if above not in tree.queues:
            # The queue `default` always exists, below root.
            if above != "default":
                yield rejected(
                    index,
                    "spec.parent",
                    f"failed to get parent queue {above} of queue {name}: it does not exist",
                    f"apply queue {above} first, or use another parent",
                    "NotFound",
                )
                return
            break
        above = tree.queues[above].parent or ROOT_QUEUE
    holder = tree.queues.get(parent)
    if holder is not None and has_pods(holder) and set(tree.children[parent]) <= {name}:
        yield rejected(
            index,
            "spec.parent",
            f"queue {parent} cannot be the parent queue of queue {name} because it has allocated Pods",
            f"wait until no pods are running in {parent}, or use another parent",
            "Forbidden",
        )


def _capability(index: int, queue: Queue, tree: QueueTree) -> Iterator[Verdict]:
    name, own = queue.name, capability(queue)
    if is_below_queue(queue):
        for resource, amount in own.items():
            bound = _nearest(queue, resource, tree)
            if bound is not None and amount > bound:
                yield rejected(
                    index,
                    f"spec.capability[{resource}]",
                    f"queue {name} capability[{resource}]={_text(resource, amount)} exceeds its ancestor's "
                    f"capability={_text(resource, bound)}",
                    f"lower capability to {_text(resource, bound)}, or raise the ancestor's capability first",
                )
    for resource, amount in own.items():
        below = max((_largest(c, resource, tree, {name}) for c in tree.children.get(name, ())), default=0)
        if 0 < amount < below:
            yield rejected(
                index,
                f"spec.capability[{resource}]",
                f"queue {name} capability[{resource}]={_text(resource, amount)} is smaller than its descendants' max "
                f"capability={_text(resource, below)}",
                f"raise capability to {_text(resource, below)}, or lower the descendants' capability first",
            )


def _nearest(queue: Queue, resource: str, tree: QueueTree) -> int | None:
    """Return the capability of the nearest ancestor that has one; 0 is treated as unset."""
    above, seen = queue.parent, {queue.name}
    while above is not None and above != ROOT_QUEUE and above in tree.queues and above not in seen:
        amount = capability(tree.queues[above]).get(resource, 0)
        if amount > 0:
            return amount
        seen.add(above)
        above = tree.queues[above].parent
    return None


def _largest(name: str, resource: str, tree: QueueTree, seen: set[str]) -> int:
    """Return the largest capability of a queue's subtree; the search stops at queues with a capability."""
    own = capability(tree.queues[name]).get(resource, 0)
    if own > 0 or name in seen:
        return own
    return max((_largest(c, resource, tree, {*seen, name}) for c in tree.children.get(name, ())), default=0)


def _sums(evaluated: Mapping[str, int], tree: QueueTree) -> Iterator[Verdict]:
    """Yield a verdict for each sum above a parent's amount, on the parent if it is applied, else on the first child."""
    parents: dict[str, tuple[str, int]] = {}
    for name, index in evaluated.items():
        parent = tree.queues[name].parent
        if parent is not None and parent != ROOT_QUEUE and parent in tree.queues:
            parents.setdefault(parent, (name, index))
    for name, index in evaluated.items():
        if name in tree.children:
            parents[name] = (name, index)
    for parent, (name, index) in parents.items():
        for word, field, amounts in _SUMS:
            bound = amounts(tree.queues[parent])
            needed = total(amounts(tree.queues[child]) for child in tree.children[parent])
            short = short_of(bound, needed)
            if short is None:
                continue
            who = f"queue {parent}" if name == parent else f"parent queue {parent}"
            yield rejected(
                index,
                f"spec.{field}[{short}]",
                f"{who} validation failed: sum of children's {word} ({_list(needed)}) exceeds parent's {word} limit "
                f"({_list(bound)})",
                f"set {word} for {short} to at least {_text(short, needed[short])}"
                + ("" if short in bound else " (an explicit value is required)"),
            )


def _list(amounts: Counts) -> str:
    return ", ".join(f"{name} {_text(name, amount)}" for name, amount in amounts.items()) or "none"


def _text(resource: str, amount: int) -> str:
    if resource == MEMORY:
        return memory_text(amount)
    return cpu_text(amount) if resource == CPU or amount % 1000 else str(amount // 1000)
