"""Which flavor Kueue may give to work whose node selector no node of that flavor meets.

Kueue compares a selector with a flavor in those keys only that the flavor has. Work may so be admitted on the quota of
machines that it does not select, and kube-scheduler finds it no node.

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
    """Yield that pods with GPUs may be admitted to a flavor none of whose nodes they select."""
    program, workload, pods = selection.program, selection.workload, selection.pods
    if not pod_requests(pods.spec).get(GPU_RESOURCE):
        return
    blind = _blind_flavor(program, selection.queue, selection.labels)
    if blind is not None:
        flavor, key, value = blind
        yield workload.pending(
            template_field(pods, "spec", f"nodeSelector[{key}]"), "Ambiguous",
            f"Kueue may assign it flavor {flavor.name}, but no node of the flavor has {key}: {value}: Kueue compares "
            "only the selector keys that the flavor sets",
            _way_to(program, flavor.labels, selection.pools),
        )  # fmt: skip


def _blind_flavor(
    program: Program, queue: Queue, selector: Sequence[tuple[str, str]]
) -> tuple[Flavor, str, str] | None:
    """Return a flavor that work with GPUs may get and none of whose nodes it selects, with the key that the flavor lacks.

    None where there is none: each flavor that the queue may use has such nodes, or keys by which Kueue passes it over.
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
    """Return how a selector keeps off a flavor with labels, and still chooses its own pools."""
    for key, value in labels.items():
        values = {node_labels(program, pool).get(key) for pool in selected}
        if len(values) == 1 and value not in values and None not in values:
            return f"also select {key}: {values.pop()}"
    return "remove the selector"
