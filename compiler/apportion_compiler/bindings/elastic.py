"""Workloads with a minimum and a maximum number of workers: `bind --min --max`.

Ray scales its worker groups itself. Other kinds request the maximum, and their engine starts them with the minimum: KAI
and Volcano by the gang's minimum, Kueue by partial admission of a Job. Otherwise all workers start or none; a minimum
would be ignored, and is rejected.
"""

from __future__ import annotations

from apportion_compiler.bindings.binding import EngineBinding
from apportion_compiler.bindings.errors import BindingError
from apportion_compiler.engines.registry import TRAITS
from apportion_compiler.workload_shapes import Node, found, mapping, section, sequence

_RAY = frozenset({"RayCluster", "RayJob", "RayService"})


def workers_at_first(kind: str, engine: EngineBinding, least: int, most: int) -> int:
    """Return the number of workers in the template of a kind.

    Raises:
        BindingError: If the numbers are inverted, or the kind cannot start with fewer workers on the engine.
    """
    if least > most:
        raise BindingError(f"--min {least} is greater than --max {most}")
    if kind in _RAY:
        if not engine.scales_ray:
            raise BindingError(
                f"{TRAITS[engine.name].title} admits a {kind} as a whole and rejects autoscaling: use "
                f"--workers {most} instead"
            )
        return least
    if kind not in engine.elastic:
        can = sorted({*engine.elastic} | (_RAY if engine.scales_ray else frozenset()))
        raise BindingError(
            f"{TRAITS[engine.name].title} starts all workers of a {kind} or none; --min is supported only for {', '.join(can)}"
        )
    return most


def make_elastic(workload: Node, kind: str, engine: EngineBinding, least: int, most: int) -> None:
    """Set the bounds in a workload that is bound to its queue."""
    if kind in _RAY:
        for path in (("spec",), ("spec", "rayClusterSpec"), ("spec", "rayClusterConfig")):
            groups = sequence(found(workload, *path, "workerGroupSpecs"))
            for group in groups:
                mapping(group).update({"replicas": least, "minReplicas": least, "maxReplicas": most})
            if groups:
                section(workload, *path)["enableInTreeAutoscaling"] = True
        return
    engine.elastic[kind](workload, least, most)
