"""Kueue's rules accept the output of Kueue's backend, and Kueue's reader restores the IR's values.

For features that the table of capabilities marks as approximated, the imported value is compared with the
approximation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.engines.kueue.reader import READER
from apportion_compiler.engines.kueue.rules import RULES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.gpu_models import counted_models
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.readers.record import QueueRecord
from apportion_policy import Policy
from apportion_policy.quantity import UNLIMITED, Amount, Unlimited, add, is_over, smaller
from apportion_policy.resources import CPU, GPU, MEMORY

from .strategies import AS_OF, policies

pytestmark = pytest.mark.property

_DEVICE = 1000


def _programs(policy: Policy) -> Iterator[tuple[Program, tuple[Manifest, ...]]]:
    graph = build_graph(declare(policy), AS_OF)
    for scope in graph.scopes:
        # The drawn engine is irrelevant: Kueue's backend accepts any program.
        program = replace(lower(graph, scope), engine="kueue", engine_version="0.18.3")
        yield program, BACKENDS["kueue"].emit(program).manifests


@given(policies())
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    for program, manifests in _programs(policy):
        homeless = {object_name(q.id) for q in program.queues if q.is_leaf and not q.namespaces}
        for verdict in RULES.check(manifests, ()):
            # A leaf without namespaces has no workloads: its ClusterQueue selects no namespace.
            name = dict(manifests[verdict.index])["metadata"]["name"]
            assert (verdict.field, name in homeless) == ("spec.namespaceSelector", True), verdict


@given(policies())
def test_import_of_emitted_objects_is_lossless(policy: Policy) -> None:
    for program, manifests in _programs(policy):
        # An id that is invalid in a policy changes on import; the object keeps its name.
        record = {queue.object.partition(" ")[2]: queue for queue in READER.read(manifests).queues}
        kept = _kept(program)
        assert len(record) == len(program.queues)
        for queue in program.queues:
            found = record[object_name(queue.id)]
            parent = None if queue.parent is None else record[object_name(queue.parent)].id
            assert found.parent == parent
            _compare(program, queue, kept[queue.id], found)


def _compare(program: Program, queue: Queue, kept: Mapping[str, Amount], found: QueueRecord) -> None:
    for resource, expected in kept.items():
        if resource in program.unmanaged:
            assert resource not in found.guaranteed
            continue
        # An unlimited guarantee of all queues is emitted like an unmanaged resource, with the same effect.
        assert found.guaranteed.get(resource, UNLIMITED) == expected, (queue.id, resource)
        limit = _whole(resource, queue.limit.get(resource, UNLIMITED))
        if isinstance(expected, int) and not _is_divided(program, resource):
            assert found.limit.get(resource, UNLIMITED) == (
                limit if is_over(limit, expected) else _at_least(limit, expected)
            )
        lending = _whole(resource, queue.lending_limit.get(resource, UNLIMITED))
        if isinstance(expected, int) and queue.is_leaf and not _is_divided(program, resource):
            # Kueue rejects a lending limit above the nominal quota.
            assert smaller(found.lending_limit.get(resource, UNLIMITED), expected) == smaller(lending, expected)
    weight = queue.weight[CPU if GPU in program.unmanaged else GPU]
    assert dict(found.weight) == dict.fromkeys((CPU, MEMORY, GPU), weight)
    assert (found.title, found.owner) == (queue.title or None, queue.owner)
    assert found.namespaces == queue.namespaces
    assert dict(found.labels) == dict(queue.labels)


def _at_least(limit: Amount, held: int) -> Amount:
    return limit if isinstance(limit, Unlimited) else max(limit, held)


def _is_divided(program: Program, resource: str) -> bool:
    """Return whether GPU amounts with and without a model are mixed: AP513 on other engines, approximated here."""
    return resource == GPU and bool(counted_models(program))


def _whole(resource: str, amount: Amount) -> Amount:
    is_gpu = resource == GPU or resource.startswith(f"{GPU}/")
    return amount if isinstance(amount, Unlimited) or not is_gpu else amount - amount % _DEVICE


def _kept(program: Program) -> dict[str, dict[str, Amount]]:
    """Return emitted guarantees: whole GPUs, at most the limit, and for inner queues at least the children's."""
    resources = (CPU, MEMORY, *_others(program))
    if not counted_models(program) and all(_may_use_gpus(program, q) for q in program.queues if q.is_leaf):
        resources = (*resources, GPU)
    kept: dict[str, dict[str, Amount]] = {}
    for queue in reversed(program.queues):
        own: dict[str, Amount] = {}
        for resource in resources:
            amount = smaller(queue.guaranteed.get(resource, 0), queue.limit.get(resource, UNLIMITED))
            below: Amount = 0
            for child in queue.children:
                below = add(below, kept[child][resource])
            whole = _whole(resource, amount)
            own[resource] = whole if is_over(whole, below) else below
        kept[queue.id] = own
    return kept


def _others(program: Program) -> list[str]:
    spoken = {resource for queue in program.queues for resource in (*queue.guaranteed, *queue.limit)}
    return sorted(r for r in spoken if r not in (CPU, MEMORY, GPU) and not r.startswith(f"{GPU}/"))


def _may_use_gpus(program: Program, queue: Queue) -> bool:
    pools = {pool.id for pool in program.pools if pool.n_gpus}
    return not pools or bool(pools & set(queue.pools))
