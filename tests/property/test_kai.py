"""KAI's rules accept the output of KAI's backend, and KAI's reader restores the IR's values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import given

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.engine_rules.verdict import Effect
from apportion_compiler.engines.kai.reader import READER
from apportion_compiler.engines.kai.rules import RULES
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

_MEGABYTE = 10**6
_EXACT_BELOW = 10**15
"""Bytes above which KAI's floats are inexact: only whole megabytes are preserved."""


def _programs(policy: Policy) -> Iterator[tuple[Program, tuple[Manifest, ...]]]:
    graph = build_graph(declare(policy), AS_OF)
    for scope in graph.scopes:
        program = lower(graph, scope)
        if program.engine == "kai":
            outputs = (BACKENDS[name].emit(program) for name in ("kai", "native"))
            yield program, tuple(manifest for output in outputs for manifest in output.manifests)


@given(policies())
def test_import_of_emitted_objects_is_lossless(policy: Policy) -> None:
    for program, manifests in _programs(policy):
        record = {queue.id: queue for queue in READER.read(manifests).queues}
        for queue in program.queues:
            _compare(program, queue, _record(record, queue.id))


def _record(record: Mapping[str, QueueRecord], id_: str) -> QueueRecord:
    """Return the record of a queue; an id that is not a valid object name changes on import."""
    return record[id_] if id_ in record else record[object_name(id_)]


def _compare(program: Program, queue: Queue, found: QueueRecord) -> None:
    managed = set(queue.guaranteed)
    for resource in _counted(program):
        expected = _kept(resource, queue.guaranteed.get(resource, 0)) if resource in managed else None
        if resource.startswith(f"{GPU}/"):
            expected = _of_model(program, queue, resource)
        if expected is None and found.guaranteed.get(resource, 0) == 0:
            continue
        # An unlimited guarantee of all queues is emitted like an unmanaged resource, with the same effect.
        assert found.guaranteed.get(resource, UNLIMITED) == (UNLIMITED if expected is None else expected), resource
        assert found.limit.get(resource, UNLIMITED) == _limit(program, queue, resource), resource
    assert (found.priority, found.title, found.owner) == (queue.priority, queue.title or None, queue.owner)
    assert found.preempt_min_runtime == queue.preempt_min_runtime
    assert found.reclaim_min_runtime == queue.reclaim_min_runtime
    assert dict(found.weight) == dict(queue.weight)
    assert found.namespaces == queue.namespaces
    assert dict(found.labels) == dict(queue.labels)
    assert found.parent in (None if queue.parent is None else queue.parent, object_name(queue.parent or ""))


def _counted(program: Program) -> tuple[str, ...]:
    """Return the resources with a field of their own in KAI's objects."""
    models = counted_models(program)
    return (CPU, MEMORY, *(gpu_resource(model) for model in models)) if models else (CPU, MEMORY, GPU)


def _of_model(program: Program, queue: Queue, resource: str) -> Amount | None:
    """Return a guarantee per GPU model: 0 in shards without the queue; an unlimited one for any model holds in each."""
    pools = {pool.id for pool in program.pools if pool.gpu_model == resource.partition("/")[2]}
    below = [other for other in program.queues if queue.id in other.path]
    if pools and not any(pools & set(other.pools) for other in below):
        return None
    by_model = any(name.startswith(f"{GPU}/") for name in queue.guaranteed)
    anywhere: Amount = UNLIMITED if queue.guaranteed.get(GPU) is UNLIMITED and not by_model else 0
    return queue.guaranteed.get(resource, anywhere)


def _limit(program: Program, queue: Queue, resource: str) -> Amount:
    bound = queue.limit.get(resource, UNLIMITED)
    if resource.startswith(f"{GPU}/"):
        bound = queue.limit.get(resource, queue.limit.get(GPU, UNLIMITED))
    return _kept(resource, bound)


def _kept(resource: str, amount: Amount) -> Amount:
    if isinstance(amount, Unlimited) or resource != MEMORY or amount < _EXACT_BELOW:
        return amount
    number = amount / _MEGABYTE
    whole, rest = divmod(amount, _MEGABYTE)
    exact = f"{whole}.{rest:06d}".rstrip("0").rstrip(".")
    return amount if not rest or repr(number) == exact else whole * _MEGABYTE


_OF_THE_NUMBERS = ("quota", "limit")


@given(policies())
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    """Sums that do not fit originate in the policy (AP2xx); any other violation is a fault of the backend."""
    for _, manifests in _programs(policy):
        found = [v for v in RULES.check(manifests, ()) if not v.field.endswith(_OF_THE_NUMBERS)]
        assert [v for v in found if v.effect is not Effect.PENDING or v.kind != "Required"] == []
        assert all(v.effect is Effect.IGNORED for v in RULES.check(manifests, ())), found
