"""Volcano's rules accept the output of Volcano's backend, and Volcano's reader restores the IR's values.

Random policies are inconsistent: sums that do not fit, limits below guarantees. Their objects are accepted too, but for
the comparison with imported values, the amounts are made consistent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given, settings

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.backends.partitions import partitions_of
from apportion_compiler.engines.volcano.emit.bounds import MAX_DEPTH
from apportion_compiler.engines.volcano.emit.queues import whole_weight
from apportion_compiler.engines.volcano.reader import READER
from apportion_compiler.engines.volcano.rules import RULES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.readers.record import QueueRecord
from apportion_policy import Policy
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited
from apportion_policy.resources import CPU, GPU, MEMORY, gpu_resource

from .strategies import AS_OF, policies

pytestmark = pytest.mark.property


def _programs(policy: Policy) -> Iterator[Program]:
    """Yield the program of each cluster, lowered for Volcano, unless its tree is too deep."""
    graph = build_graph(declare(policy), AS_OF)
    for scope in graph.scopes:
        program = lower(graph, scope)
        if max(len(queue.path) for queue in program.queues) <= MAX_DEPTH:
            yield replace(program, engine="volcano", engine_version="1.16")


def _sound(program: Program) -> Program:
    """Return the program with consistent amounts: whole GPUs, sums that fit, limits no less than guarantees."""
    by_id: dict[str, Queue] = {}
    for queue in reversed(program.queues):
        below = [by_id[child] for child in queue.children]
        guaranteed = {
            r: max(_whole(r, amount), sum(_number(child.guaranteed.get(r, 0)) for child in below))
            for r, amount in queue.guaranteed.items()
        }
        limit = {
            r: max(_whole(r, amount), guaranteed.get(r, 0), *(_widest(child, r, by_id) for child in below), 0)
            for r, amount in queue.limit.items()
            if not isinstance(amount, Unlimited)
        }
        lending = {r: a if isinstance(a, Unlimited) else _whole(r, a) for r, a in queue.lending_limit.items()}
        by_id[queue.id] = replace(queue, guaranteed=guaranteed, limit=limit, lending_limit=lending)
    return replace(program, queues=tuple(by_id[queue.id] for queue in program.queues))


def _widest(queue: Queue, resource: str, by_id: Mapping[str, Queue]) -> int:
    """Return the largest limit in a subtree; a limit without a model bounds each GPU model."""
    own = [
        _number(queue.limit[r]) for r in (resource, GPU) if r in queue.limit and (r == resource or _is_gpu(resource))
    ]
    return max([*own, *(_widest(by_id[child], resource, by_id) for child in queue.children)], default=0)


def _is_gpu(resource: str) -> bool:
    return resource == GPU or resource.startswith(f"{GPU}/")


def _whole(resource: str, amount: Amount) -> int:
    number = _number(amount)
    return number - number % 1000 if _is_gpu(resource) else number


def _number(amount: Amount) -> int:
    return 0 if isinstance(amount, Unlimited) else amount


def _manifests(program: Program) -> tuple[Manifest, ...]:
    return tuple(m for name in ("volcano", "native") for m in BACKENDS[name].emit(program).manifests)


@given(policies())
@settings(max_examples=12)
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    for program in _programs(policy):
        assert list(RULES.check(BACKENDS["volcano"].emit(program).manifests, [])) == []


@given(policies(max_queues=6))
@settings(max_examples=12)
def test_import_of_emitted_objects_is_lossless(policy: Policy) -> None:
    for program in map(_sound, _programs(policy)):
        record = {queue.id: queue for queue in READER.read(_manifests(program)).queues}
        for queue in program.queues:
            found = record[queue.id] if queue.id in record else record[object_name(queue.id)]
            _compare(program, queue, found)


def _compare(program: Program, queue: Queue, found: QueueRecord) -> None:
    for resource in _counted(program):
        guaranteed = _number(queue.guaranteed.get(resource, 0)) if _is_held(program, queue, resource) else 0
        assert found.guaranteed.get(resource, 0) == guaranteed, resource
        assert _close(found.limit.get(resource, UNLIMITED), _limit(program, queue, resource)), resource
        if queue.is_leaf:
            assert _lent(found.lending_limit, resource, guaranteed) == _lent(queue.lending_limit, resource, guaranteed)
    assert (found.priority, found.title, found.owner) == (queue.priority, queue.title or None, queue.owner)
    assert dict(found.weight) == dict.fromkeys((CPU, MEMORY, GPU), whole_weight(queue) * 1000)
    assert found.namespaces == queue.namespaces
    assert dict(found.labels) == dict(queue.labels)
    assert found.parent in (None if queue.parent is None else queue.parent, object_name(queue.parent or ""))


def _counted(program: Program) -> tuple[str, ...]:
    managed = {r for queue in program.queues for r in (*queue.guaranteed, *queue.limit) if not r.startswith(f"{GPU}/")}
    models = counted_models(program)
    return (*sorted(managed - ({GPU} if models else set())), *(gpu_resource(model) for model in models))


def _is_held(program: Program, queue: Queue, resource: str) -> bool:
    """Return whether the subtree of a queue may use a pool of the model."""
    if not resource.startswith(f"{GPU}/") or not program.pools:
        return True
    pools = {p.id for part in partitions_of(program) if resource == f"{GPU}/{part.model}" for p in part.pools}
    return any(pools & set(other.pools) for other in program.queues if queue.id in other.path)


def _limit(program: Program, queue: Queue, resource: str) -> Amount:
    """Return the effective limit: the smallest of the queue and its ancestors; one without a model bounds each model."""
    if not _is_held(program, queue, resource) or _own_limit(queue, resource) is UNLIMITED:
        return UNLIMITED
    by_id = {other.id: other for other in program.queues}
    smallest = min(_number(a) for id_ in queue.path if (a := _own_limit(by_id[id_], resource)) is not UNLIMITED)
    return max(smallest, _number(queue.guaranteed.get(resource, 0)))


def _own_limit(queue: Queue, resource: str) -> Amount:
    anyhow = queue.limit.get(GPU, UNLIMITED) if _is_gpu(resource) else UNLIMITED
    return queue.limit.get(resource, anyhow)


def _close(found: Amount, declared: Amount) -> bool:
    """Return whether limits are equal; 0 is emitted as the smallest unit, so 1 byte or millicore equals it."""
    return found == declared or (found, declared) == (0, 1)


def _lent(lending: Mapping[str, Amount], resource: str, guaranteed: int) -> int:
    lent = lending.get(resource, lending.get(GPU, UNLIMITED) if _is_gpu(resource) else UNLIMITED)
    return guaranteed if isinstance(lent, Unlimited) else min(lent, guaranteed)
