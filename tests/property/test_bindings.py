"""Bound workloads on a cluster of any policy match the queue: its namespace, classes, name, and the engine's rules."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from apportion_compiler.backends.partitions import workload_queue_names
from apportion_compiler.bindings import ENGINES, KINDS
from apportion_compiler.bindings.bind import adopt, bind
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.bindings.options import Options
from apportion_compiler.engine_rules.workloads import workload_verdicts
from apportion_compiler.engines import registry
from apportion_compiler.graph.declarations import declare
from apportion_compiler.graph.graph import build_graph
from apportion_compiler.ir.lower import lower
from apportion_compiler.ir.program import Program, Queue
from apportion_compiler.kubernetes_names import object_name
from apportion_compiler.workload_shapes import found, pod_sets
from apportion_policy import Policy

from ..conformance.schemas import errors
from .strategies import AS_OF, policies

pytestmark = pytest.mark.property

_OPTIONS = st.builds(
    Options,
    workers=st.sampled_from((None, 1, 3)),
    gpus=st.sampled_from((None, 0, 500, 1000, 8000)),
    gpu_model=st.sampled_from((None, None, "h100")),
)


def _drawn(policy: Policy, data: st.DataObject) -> tuple[Program, Queue]:
    graph = build_graph(declare(policy), AS_OF)
    program = lower(graph, data.draw(st.sampled_from(graph.scopes)))
    leaves = [queue for queue in program.queues if queue.is_leaf and queue.namespaces]
    assume(leaves)
    return program, data.draw(st.sampled_from(leaves))


@given(policies(), st.data(), st.sampled_from(sorted(KINDS)), _OPTIONS)
@settings(max_examples=30)
def test_bound_workloads_satisfy_admission(policy: Policy, data: st.DataObject, kind: str, options: Options) -> None:
    program, queue = _drawn(policy, data)
    try:
        made = bind(program, queue.id, kind, options)
    except BindingError as refused:
        event(f"refused: {refused}"[:24])
        return
    assert [fault for manifest in made for fault in errors(manifest)] == []
    assert list(workload_verdicts(program.engine, made)) == []
    names = set(workload_queue_names(program)[queue.id])
    classes = {object_name(cls) for cls in queue.priority_classes}
    for manifest in made:
        assert found(manifest, "metadata", "namespace") in queue.namespaces
        assert _named_queues(manifest) <= names
        for pods in pod_sets(manifest):
            assert found(pods.spec, "priorityClassName") in (classes or {None})


@given(policies(), st.data(), st.sampled_from(("Job", "RayJob", "Deployment", "JobSet", "PyTorchJob")))
@settings(max_examples=15)
def test_binding_is_idempotent(policy: Policy, data: st.DataObject, kind: str) -> None:
    program, queue = _drawn(policy, data)
    try:
        made = bind(program, queue.id, kind, Options())
    except BindingError:
        return
    workloads = [manifest for manifest in made if manifest["kind"] == kind]
    again = adopt(program, queue.id, workloads, Options(gpu_model=None))
    assert [manifest for manifest in again.objects if manifest["kind"] == kind] == workloads


_QUEUE_KEYS = {
    "kai.scheduler/queue", "kueue.x-k8s.io/queue-name", "volcano.sh/queue-name", "scheduling.volcano.sh/queue-name",
    "quota.scheduling.koordinator.sh/name", "quota.scheduling.alibabacloud.com/name", "yunikorn.apache.org/queue",
}  # fmt: skip


def _named_queues(node: object) -> set[str]:
    if isinstance(node, list):
        return {name for item in node for name in _named_queues(item)}
    if not isinstance(node, dict):
        return set()
    own = {value for key, value in node.items() if key in _QUEUE_KEYS}
    return own | {name for item in node.values() for name in _named_queues(item)}


def test_bind_supports_every_engine() -> None:
    assert sorted(ENGINES) == list(registry.ENGINES)
