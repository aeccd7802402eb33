"""YuniKorn's own checks accept the output of YuniKorn's backend, and its reader restores the IR's values.

For features that the table of capabilities marks as approximated, the imported value is compared with the
approximation, and the loss is asserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from apportion_compiler.backends import BACKENDS
from apportion_compiler.backends.capability import Manifest
from apportion_compiler.compile import check_policy
from apportion_compiler.diagnostics.diagnostic import has_errors
from apportion_compiler.engines.yunikorn.emit.config_map import queues_text
from apportion_compiler.engines.yunikorn.reader import READER
from apportion_compiler.engines.yunikorn.rules import RULES
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program, Queue, UserLimit
from apportion_compiler.readers.record import QueueRecord
from apportion_policy import Policy
from apportion_policy.quantity import UNLIMITED, Amount, smaller

from .strategies import AS_OF, policies
from .yunikorn_trees import sound_policies

pytestmark = pytest.mark.property

EVERYBODY = "*"


def _program(policy: Policy) -> Program:
    graph = build_graph(declare(policy), AS_OF)
    return lower(graph, graph.scopes[-1])


def _objects(program: Program) -> tuple[Manifest, ...]:
    return tuple(m for name in ("yunikorn", "native") for m in BACKENDS[name].emit(program).manifests)


def _pairs(program: Program) -> Iterator[tuple[Queue, QueueRecord]]:
    record = {queue.id: queue for queue in READER.read(_objects(program)).queues}
    assert record.keys() == {queue.id for queue in program.queues}
    return ((queue, record[queue.id]) for queue in program.queues)


@given(sound_policies())
def test_emitted_objects_satisfy_the_rules(policy: Policy) -> None:
    assert not has_errors(check_policy(policy, AS_OF).diagnostics)
    program = _program(policy)
    assert list(BACKENDS["yunikorn"].refusals(program)) == []
    assert list(RULES.check(_objects(program), ())) == []


@given(policies(engine="yunikorn"))
def test_rules_never_raise(policy: Policy) -> None:
    program = _program(policy)
    found = list(RULES.check(_objects(program), ()))
    if not has_errors(check_policy(policy, AS_OF).diagnostics):
        assert found == []


@given(sound_policies())
def test_import_preserves_amounts_and_namespaces(policy: Policy) -> None:
    program = _program(policy)
    bounds: dict[str | None, Mapping[str, Amount]] = {None: {}}
    lifted_bounds: dict[str | None, Mapping[str, Amount]] = {None: {}}
    for queue, record in _pairs(program):
        bounds[queue.id] = _least(queue.limit, bounds[queue.parent])
        lifted_bounds[queue.id] = _least(record.limit, lifted_bounds[record.parent])
        assert record.parent == queue.parent
        assert _some(record.guaranteed) == _some(queue.guaranteed)
        assert lifted_bounds[queue.id] == bounds[queue.id]
        assert (record.namespaces, record.title, record.owner, dict(record.labels)) == (
            queue.namespaces,
            queue.title,
            queue.owner,
            dict(queue.labels),
        )


@given(sound_policies())
def test_import_preserves_the_order_of_queue_priorities(policy: Policy) -> None:
    program = _program(policy)
    siblings: dict[str | None, list[tuple[int, int]]] = {}
    for queue, record in _pairs(program):
        read = (_priority(queue.priority), _priority(record.priority))
        siblings.setdefault(queue.parent, []).append(read)
    for group in siblings.values():
        for said, read in group:
            assert [_sign(said - other) for other, _ in group] == [_sign(read - other) for _, other in group]
    doubled = replace(program, queues=tuple(replace(q, priority=2 * _priority(q.priority)) for q in program.queues))
    assert queues_text(doubled) == queues_text(program)


@given(sound_policies())
def test_every_queue_can_reclaim_its_guarantee(policy: Policy) -> None:
    """YuniKorn skips queues whose priority offset is above that of the ancestor shared with the pending pod."""

    def check(queue: Mapping[str, Any], above: int) -> None:
        assert queue["properties"]["priority.policy"] == "fence"
        offset = int(queue["properties"].get("priority.offset", 0))
        assert -(2**31) <= offset <= above
        for child in queue.get("queues", ()):
            check(child, offset)

    ((root,),) = [partition["queues"] for partition in yaml.safe_load(queues_text(_program(policy)))["partitions"]]
    check(root, 0)


@given(sound_policies())
def test_import_preserves_user_limits(policy: Policy) -> None:
    program = _program(policy)
    pairs = list(_pairs(program))
    bounds: dict[str | None, Mapping[str, Amount]] = {None: {}}
    for queue, _ in pairs:
        bounds[queue.id] = _least(queue.limit, bounds[queue.parent])
    said = {queue.id: queue.users for queue, _ in pairs}
    read = {queue.id: record.users for queue, record in pairs}
    for queue, _ in pairs:
        for user in ("alice", "nobody", "system:serviceaccount:ray:operator"):
            held = [_for(user, [limits[id_] for id_ in queue.path], bounds[queue.id]) for limits in (said, read)]
            assert held[0] == held[1]


@given(sound_policies())
def test_user_job_limits_become_application_limits(policy: Policy) -> None:
    program = _program(policy)
    written = dict(_written(program))
    for queue in program.queues:
        counted = {
            u: limit.get("maxapplications") for limit in written[queue.id].get("limits", ()) for u in limit["users"]
        }
        for user in queue.users:
            assert user.max_jobs in (None, 0) or counted[user.user] <= user.max_jobs


@given(sound_policies())
def test_non_preemptible_work_is_evicted_last_or_never(policy: Policy) -> None:
    program = _program(policy)
    classes = {cls.name: cls.preemptible for cls in program.priority_classes}
    record = READER.read(_objects(program))
    assert {cls.name: cls.preemptible for cls in record.priority_classes} == classes
    written = dict(_written(program))
    for queue in program.queues:
        disabled = written[queue.id]["properties"].get("preemption.policy") == "disabled"
        kept = {classes[name] for name in queue.priority_classes} == {False}
        assert disabled == (bool(queue.namespaces) and kept)


@given(sound_policies(), st.sampled_from((1, 7, 10**9)))
def test_queues_do_not_depend_on_class_values(policy: Policy, value: int) -> None:
    """Preemption compares no workload priorities within a queue: other class values change no queue."""
    program = _program(policy)
    others = tuple(replace(cls, value=value) for cls in program.priority_classes)
    assert queues_text(replace(program, priority_classes=others)) == queues_text(program)


@given(sound_policies())
def test_only_the_sum_of_gpu_models_is_emitted(policy: Policy) -> None:
    """Only the sum of GPUs over all models is emitted."""
    program = _program(policy)
    told = tuple(
        replace(queue, guaranteed={**queue.guaranteed, "gpu/h100": queue.guaranteed.get("gpu", 0), "gpu/a100": 0})
        for queue in program.queues
    )
    assert queues_text(replace(program, queues=told)) == queues_text(program)


def _least(own: Mapping[str, Amount], above: Mapping[str, Amount]) -> Mapping[str, Amount]:
    bounds = {r: smaller(own.get(r, UNLIMITED), above.get(r, UNLIMITED)) for r in {*own, *above}}
    return {r: amount for r, amount in bounds.items() if amount is not UNLIMITED}


def _some(amounts: Mapping[str, Amount]) -> Mapping[str, Amount]:
    return {resource: amount for resource, amount in amounts.items() if amount != 0}


def _priority(priority: int | None) -> int:
    return 100 if priority is None else priority


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)


def _for(user: str, path: Sequence[Sequence[UserLimit]], bound: Mapping[str, Amount]) -> tuple[object, int | None]:
    """Return a user's limit in the last queue of a path: of each queue, the user's limit, else the wildcard one."""
    limit, jobs = bound, None
    for limits in path:
        named = {held.user: held for held in limits}
        own = named.get(user, named.get(EVERYBODY))
        if own is not None:
            limit = _least(own.limit, limit)
            jobs = min((n for n in (jobs, own.max_jobs) if n is not None), default=None)
    return ({}, 0) if jobs == 0 else (limit, jobs)


def _written(program: Program) -> Iterator[tuple[str, dict[str, Any]]]:
    stack = list(yaml.safe_load(queues_text(program))["partitions"][0]["queues"][0]["queues"])
    while stack:
        queue = stack.pop()
        yield queue["properties"].get("apportion.dev/queue-id", queue["name"]), queue
        stack.extend(queue.get("queues", ()))
