"""AP607: queued provisioning of machines without GPUs, which GKE does not offer."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.checks.queued_pools import queued_pools
from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity, ValueEdit
from apportion_compiler.graph.graph import PolicyGraph

QUEUED_WITHOUT_GPU = Rule(
    "AP607", "queued-without-gpu", Severity.ERROR, "queued provisioning is declared for nodes without GPUs"
)


def queued_without_gpu(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report pools without an accelerator that have a plan of GKE's queued provisioning."""
    for pool, plan in queued_pools(graph):
        if pool.accelerator is None:
            yield Diagnostic(
                QUEUED_WITHOUT_GPU,
                f"node pool {pool.id}",
                f"`{pool.id}` has no GPUs, but {plan.provisioning_class} provisions only GPU nodes",
                pool.source,
                (Related(plan.source, f"`{plan.id}` has this class"),),
                f"remove `provisioning` from `{pool.id}`, or add an accelerator",
                ValueEdit(pool.source, ("provisioning",), None),
            )
