"""Values of a policy that YuniKorn has fields for but cannot represent."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from apportion_compiler.backends.capability import Refusal
from apportion_compiler.engines.yunikorn.emit.amounts import UNBOUNDED, WHOLE_GPU, is_counted
from apportion_compiler.engines.yunikorn.emit.config_map import MAX_BYTES, compressed_queues
from apportion_compiler.engines.yunikorn.emit.tree import ALL_USERS, QueueNumbers, queue_numbers
from apportion_compiler.ir.gpu_models import model_only_bounds
from apportion_compiler.ir.program import Program, Queue
from apportion_policy.quantity import Amount, Unlimited
from apportion_policy.resources import GPU, amount_text

_USER = re.compile(r"[_a-zA-Z][a-zA-Z0-9:#/_.@-]*[$]?")
"""pkg/common/configs/configvalidator.go, UserRegExp."""

_MANY_QUEUES = 1000
"""A policy with fewer queues cannot exceed the size limit of a ConfigMap."""


def refusals(program: Program) -> Iterator[Refusal]:
    """Yield refusals, queue by queue."""
    if program.gpu_placement != program.cpu_placement:
        yield Refusal(
            "AP516",
            f"cluster {program.environment}/{program.cluster}",
            program.source,
            f"different placements for workloads without GPUs ({program.cpu_placement}) and with GPUs "
            f"({program.gpu_placement}): a cluster has only one node sort policy",
            "set the same strategy for both in the cluster's `placement`: Placement(gpu=BINPACK, cpu=BINPACK)",
        )
    yield from _bounds_by_model(program)
    numbers = queue_numbers(program)
    by_id = {queue.id: queue for queue in program.queues}
    for queue in program.queues:
        yield from _amounts(queue)
        yield from _promised_twice(queue, [by_id[child] for child in queue.children], numbers)
        yield from _users(queue)
    if len(program.queues) >= _MANY_QUEUES and len(compressed_queues(program)) > MAX_BYTES:
        yield Refusal(
            "AP518",
            f"cluster {program.environment}/{program.cluster}",
            program.source,
            f"a tree of {len(program.queues)} queues: the configuration is too large for a ConfigMap",
            "remove queues that have neither guarantees nor limits, or split the tree across clusters",
        )


def _bounds_by_model(program: Program) -> Iterator[Refusal]:
    for queue, named in model_only_bounds(program):
        yield _of(
            queue,
            "AP514",
            f"limits on only some GPU models ({', '.join(named)}): nvidia.com/gpu counts GPUs of all models together",
            "limit every GPU model on the cluster, or limit `gpu` in total",
        )


def _amounts(queue: Queue) -> Iterator[Refusal]:
    declared: list[tuple[str, Mapping[str, Amount]]] = [
        ("a guarantee of", queue.guaranteed),
        ("a limit of", queue.limit),
    ]
    declared += [(f"a limit for {user.user} of", user.limit) for user in queue.users]
    for what, amounts in declared:
        for resource, amount in amounts.items():
            if isinstance(amount, Unlimited) or not is_counted(resource):
                continue
            if resource == GPU and amount % WHOLE_GPU:
                yield _of(
                    queue,
                    "AP519",
                    f"{what} {amount_text(resource, amount)}: YuniKorn counts whole devices",
                    f"use {amount // WHOLE_GPU} or {amount // WHOLE_GPU + 1}",
                )
            if amount >= UNBOUNDED:
                yield _of(
                    queue,
                    "AP519",
                    f"{what} {amount_text(resource, amount)}: the maximum, 2^63-1, means unlimited",
                    "use a smaller amount, or UNLIMITED",
                )


def _promised_twice(queue: Queue, children: Sequence[Queue], numbers: Mapping[str, QueueNumbers]) -> Iterator[Refusal]:
    """Yield UNLIMITED guarantees that fit their parent individually, but not together."""
    own = numbers[queue.id]
    for resource in own.guaranteed:
        endless = [child for child in children if isinstance(child.guaranteed.get(resource), Unlimited)]
        total = min(sum(numbers[child.id].guaranteed.get(resource, 0) for child in children), UNBOUNDED)
        # A parent without any guarantee is not written, and so not compared.
        guaranteed = own.guaranteed[resource] if any(own.guaranteed.values()) else UNBOUNDED
        if endless and total > min(guaranteed, own.above.get(resource, UNBOUNDED)):
            yield _of(
                endless[-1],
                "AP519",
                f"an unlimited guarantee of {resource} if siblings also have guarantees: their sum must not exceed the "
                f"guarantee of `{queue.id}`",
                "set finite guarantees on the queue and its siblings",
            )


def _users(queue: Queue) -> Iterator[Refusal]:
    for user in queue.users:
        if user.user != ALL_USERS and not _USER.fullmatch(user.user):
            yield _of(
                queue,
                "AP518",
                f'a limit for "{user.user}": user names must begin with a letter or _, followed by letters, digits and '
                ": # / _ . @ -",
                "use the user's Kubernetes user name",
            )


def _of(queue: Queue, code: str, message: str, hint: str) -> Refusal:
    return Refusal(code, f"queue {queue.id}", queue.source, message, hint)
