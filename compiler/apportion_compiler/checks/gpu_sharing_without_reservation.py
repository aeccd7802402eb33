"""AP619: GPUs shared on a cluster whose live scheduler cannot reserve them."""

from __future__ import annotations

from collections.abc import Iterator

from apportion_compiler.diagnostics.diagnostic import Diagnostic, Related, Rule, Severity
from apportion_compiler.graph.graph import PolicyGraph
from apportion_policy.engine import Engine

GPU_SHARING_WITHOUT_RESERVATION = Rule(
    "AP619",
    "gpu-sharing-without-reservation",
    Severity.WARNING,
    "pods that share a GPU stay pending, because the live scheduler has no image for reservation pods",
)


def gpu_sharing_without_reservation(graph: PolicyGraph) -> Iterator[Diagnostic]:
    """Report clusters that the live scheduler schedules without `reservation_image`, if a queue may share GPUs."""
    sharing = next((node.queue for node in graph.nodes.values() if node.queue.gpu_sharing), None)
    for scope in graph.scopes:
        cluster = scope.cluster
        if cluster is None or cluster.engine is not Engine.KAI or cluster.kai.gpu_sharing is False:
            continue
        live = cluster.kai.live_scheduler
        if live is None or live.reservation_image is not None:
            continue
        if sharing is None and not cluster.kai.gpu_sharing:
            continue
        yield Diagnostic(
            GPU_SHARING_WITHOUT_RESERVATION,
            f"cluster {scope.name}",
            f"`{cluster.name}` shares GPUs, but its live scheduler does not reserve them: pods with the annotation "
            "gpu-fraction or gpu-memory stay pending, together with their gangs",
            live.source,
            () if sharing is None else (Related(sharing.source, f"`{sharing.id}` may request fractions of a GPU"),),
            "set `reservation_image` to KAI's `resourcereservation` image, or remove `gpu_sharing`",
        )
