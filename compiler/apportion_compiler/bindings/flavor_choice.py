"""Which flavor Kueue may give to work whose node selector no node of that flavor meets.

Kueue compares a selector with a flavor in those keys only that the flavor has. Work may so be admitted on the quota of
machines that it does not select, and kube-scheduler finds it no node.

Source: kubernetes-sigs/kueue v0.18.3, pkg/scheduler/flavorassigner/flavorassigner.go, flavorSelector.
"""

from __future__ import annotations

from collections.abc import Sequence

from apportion_compiler.backends.pool_labels import node_labels
from apportion_compiler.engines.kueue.emit.flavors import Flavor, layout_of
from apportion_compiler.ir.program import Program, Queue


def blind_flavor(program: Program, queue: Queue, selector: Sequence[tuple[str, str]]) -> tuple[Flavor, str, str] | None:
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
