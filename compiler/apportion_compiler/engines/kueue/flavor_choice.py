"""Flavors that Kueue may assign to workloads whose node selector matches none of the flavor's nodes.

Kueue matches a selector only by the label keys of a flavor. A workload may be admitted on the quota of machines that it
does not select, and kube-scheduler then finds no node.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/flavorassigner/flavorassigner.go, flavorSelector.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from apportion_api.kubernetes.names import GPU_RESOURCE
from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.bindings.binding import Selection
from apportion_compiler.bindings.requests import pod_requests
from apportion_compiler.engine_rules.verdict import Verdict
from apportion_compiler.engine_rules.workload_rules.workload_context import template_field
from apportion_compiler.engines.kueue.emit.flavors import Flavor, layout_of
from apportion_compiler.ir.program import NodePool, Program, Queue


def misplaced(selection: Selection) -> Iterator[Verdict]:
    """Yield a clause if pods with GPUs may be admitted to a flavor whose nodes they do not select."""
    program, workload, pods = selection.program, selection.workload, selection.pods
    if not pod_requests(pods.spec).get(GPU_RESOURCE):
        return
    mismatched = _mismatched_flavor(program, selection.queue, selection.labels)
    if mismatched is not None:
        flavor, key, value = mismatched
        yield workload.pending(
            template_field(pods, "spec", f"nodeSelector[{key}]"), "Ambiguous",
            f"Kueue ignores selector keys that a flavor does not set, so it may assign flavor {flavor.name}, which has "
            f"no nodes with {key}: {value}",
            _way_to(program, flavor.labels, selection.pools),
        )  # fmt: skip


def _mismatched_flavor(
    program: Program, queue: Queue, selector: Sequence[tuple[str, str]]
) -> tuple[Flavor, str, str] | None:
    """Return a flavor that a workload may be assigned although it selects none of its nodes, and the missing label key.

    None if each flavor that the queue may use has matching nodes, or keys by which Kueue skips it.
    """
    for flavor in layout_of(program).gpu_flavors:
        pools = [pool for pool in flavor.pools if pool.id in queue.pools]
        if not pools or any(flavor.labels.get(key, value) != value for key, value in selector):
            continue
        for key, value in selector:
            if key not in flavor.labels and all(node_labels(program, pool).get(key, value) != value for pool in pools):
                return flavor, key, value
    return None


def _way_to(program: Program, labels: Mapping[str, str], selected: Sequence[NodePool]) -> str:
    """Return a selector that excludes a flavor with labels, and still matches the workload's pools."""
    for key, value in labels.items():
        values = {node_labels(program, pool).get(key) for pool in selected}
        if len(values) == 1 and value not in values and None not in values:
            return f"also select {key}: {values.pop()}"
    return "remove the selector"
